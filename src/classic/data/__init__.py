"""Data: the paper's domains, readers for many formats, splits, task orders, checks and demo domains."""

from classic.data.check import Finding, Report, SplitCount, check
from classic.data.demo import DEMO_DOMAINS, load_demo
from classic.data.domains import DOMAINS, Domain, domain
from classic.data.memory import iter_examples, to_examples
from classic.data.readers import Columns, Note, Row, detect_format, iter_rows, read_examples, read_rows
from classic.data.sequences import order, read_orders
from classic.data.splits import Split, split_examples
from classic.data.starter import load_starter, starter_domains, starter_task
from classic.data.tasks import data_root, load_domain, load_task, make_task, task_hash
from classic.data.writers import write_examples

__all__ = [
    "DEMO_DOMAINS",
    "DOMAINS",
    "Columns",
    "Domain",
    "Finding",
    "Note",
    "Report",
    "Row",
    "Split",
    "SplitCount",
    "check",
    "data_root",
    "detect_format",
    "domain",
    "iter_examples",
    "iter_rows",
    "load_demo",
    "load_domain",
    "load_starter",
    "load_task",
    "make_task",
    "order",
    "read_examples",
    "read_orders",
    "read_rows",
    "split_examples",
    "starter_domains",
    "starter_task",
    "task_hash",
    "to_examples",
    "write_examples",
]
