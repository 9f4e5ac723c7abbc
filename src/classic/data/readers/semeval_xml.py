"""The XML of SemEval-2014 Task 4 and of the tasks of 2015 and 2016, read by expat itself: every error knows its place.

2014 has ``<aspectTerm term= polarity= from= to=>``, the others ``<Opinion target= category= polarity= from= to=>`` in
reviews. A target ``NULL`` is an opinion without an aspect term: it is left out and noted.

Nothing a hostile file could use is supported: no DOCTYPE (so no entities and no outside files), little depth,
a size cap.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from classic.data.readers.columns import FIELD_NAMES
from classic.data.readers.row import WORD_LABELS, BadRow, Note, Row, read_row
from classic.data.readers.source import Place, Source, decode, position
from classic.errors import DataError

MAX_XML_BYTES = 16 << 20
MAX_DEPTH = 32
_PIECE = 1 << 16
_CONFLICT = "conflict"
_NO_TARGET = "null"
_ROOTS = ("sentences", "Reviews")
_TERMS = {"aspectTerm": "term", "Opinion": "target"}
"""Elements that tell an aspect, and the attribute that holds its term."""


def read_semeval_xml(source: Source, labelled: bool, notes: list[Note]) -> Iterator[Row | BadRow]:
    """Reads all aspect terms. Those labelled ``conflict`` are left out and noted, as the paper's data do.

    If the data need not be labelled, they are kept without a polarity: a file to be predicted loses no rows.
    """
    text = decode(source.read_all(MAX_XML_BYTES), source.path)
    if (doctype := text.find("<!DOCTYPE")) >= 0:
        raise _doctype_refused(position(text, doctype, source.path))
    # The text is known to be UTF-8, whatever the declaration in the file says.
    parser = expat.ParserCreate("utf-8")
    collector = _Collector(parser, source.path, labelled, notes)
    content = text.encode("utf-8")
    try:
        for start in range(0, len(content), _PIECE):
            parser.Parse(content[start : start + _PIECE], False)
            yield from collector.take()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise Place(source.path, error.lineno, error.offset + 1).error(
            f"not well-formed XML: {expat.ErrorString(error.code)}",
            expected="the XML of SemEval-2014, 2015 or 2016",
            fix="correct the file at this place; & must be written &amp;",
        ) from None
    yield from collector.take()


def _doctype_refused(place: Place) -> DataError:
    return place.error(
        "the file has a DOCTYPE",
        expected="XML without DOCTYPE and entities",
        fix="remove the DOCTYPE; it could make a reader open other files or fill the memory",
    )


class _Collector:
    """Gathers the aspect terms of one sentence at a time."""

    def __init__(self, parser: expat.XMLParserType, path: str, labelled: bool, notes: list[Note]) -> None:
        self._path = path
        self._labelled = labelled
        self._notes = notes
        self._rows: list[Row | BadRow] = []
        self._sentence_id: str | None = None
        self._open: list[str] = []
        self._text: list[str] | None = None
        self._text_place = Place(path)
        self._terms: list[tuple[str, dict[str, str], Place]] = []
        self._parser = parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        # Second line of defence: the search for "<!DOCTYPE" above should have refused the file already.
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._doctype

    def take(self) -> list[Row | BadRow]:
        rows, self._rows = self._rows, []
        return rows

    def _place(self) -> Place:
        return Place(self._path, self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    def _doctype(self, *declaration: object) -> None:
        raise _doctype_refused(self._place())

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._open and name not in _ROOTS:
            raise self._place().error(
                f"the outermost element is {name[:40]!r}",
                expected="<sentences> (SemEval-2014) or <Reviews> (2015, 2016)",
                fix="convert the file to CSV or JSONL with the columns sentence, aspect, polarity",
            )
        self._open.append(name)
        if len(self._open) > MAX_DEPTH:
            raise self._place().error(f"elements nested deeper than {MAX_DEPTH}", expected="SemEval XML")
        if name == "sentence":
            self._text, self._terms, self._sentence_id = None, [], attributes.get("id")
        elif name == "text":
            self._text, self._text_place = [], self._place()
        elif name in _TERMS:
            if "sentence" not in self._open:
                raise self._place().error(f"an {name} outside a sentence", expected="it inside <sentence>")
            self._terms.append((name, attributes, self._place()))

    def _characters(self, data: str) -> None:
        if self._text is not None and self._open and self._open[-1] == "text":
            self._text.append(data)

    def _end(self, name: str) -> None:
        self._open.pop()
        if name == "sentence":
            for element, attributes, place in self._terms:
                self._finish(_TERMS[element], attributes, place)

    def _finish(self, term: str, attributes: dict[str, str], place: Place) -> None:
        values: dict[str, object] = {
            field: attributes[known] for field, names in FIELD_NAMES.items() for known in names if known in attributes
        }
        if term in attributes:
            values["aspect"] = attributes[term]
        values["sentence"] = None if self._text is None else "".join(self._text)
        line = place.line or 1
        if term == "target" and str(values.get("aspect", "")).casefold() == _NO_TARGET:
            self._notes.append(Note("no-target", line, "an opinion without a target was left out"))
            return
        if str(values.get("polarity", "")).strip().casefold() == _CONFLICT:
            if self._labelled:
                self._notes.append(Note("conflict-label", line, "an aspect labelled 'conflict' was left out"))
                return
            values["polarity"] = None

        def where(field: str) -> Place:
            return self._text_place if field == "sentence" and self._text is not None else place

        fields = {"id": self._sentence_id, **attributes} if self._sentence_id is not None else dict(attributes)
        self._rows.append(read_row(values, line, fields, labelled=self._labelled, where=where, labels=WORD_LABELS))
