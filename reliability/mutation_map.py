"""Which tests should notice a mutant of a module, and which survivors are none of their business."""

from __future__ import annotations

_STORE = ("unit/store/test_store.py", "unit/store/test_branching.py")
_SERVICE = ("serving/test_teach.py", "serving/test_versions.py")

TESTS: dict[str, tuple[str, ...]] = {
    "losses/absent": ("unit/losses/test_absent.py",),
    "losses/adjusted": ("unit/losses/test_adjusted.py",),
    "losses/classification": ("unit/losses/test_classification.py",),
    "losses/contrastive": ("unit/losses/test_contrastive.py",),
    "modules/adapter": ("unit/modules/test_adapter.py",),
    "modules/averaging": ("unit/modules/test_averaging.py",),
    "modules/balance": ("unit/modules/test_balance.py",),
    "modules/bits": ("unit/modules/test_bit_packing.py",),
    "modules/capsules": ("unit/methods/test_bcl.py",),
    "modules/domain_map": ("unit/modules/test_domain_map.py",),
    "modules/domain_reader": ("unit/modules/test_domain_reader.py",),
    "modules/folded": ("unit/prediction/test_folding.py",),
    "modules/gates": ("unit/modules/test_gates.py",),
    "modules/heads": ("unit/modules/test_heads.py",),
    "modules/keeping": ("unit/modules/test_averaging.py", "unit/methods/test_additions.py"),
    "modules/plastic": ("unit/modules/test_gates.py", "unit/modules/test_trunks.py"),
    "modules/private": ("unit/modules/test_private.py",),
    "modules/projection": ("unit/methods/test_owm.py",),
    "modules/projection_head": ("unit/methods/test_classic_losses.py",),
    "modules/recurrent": ("unit/methods/test_srk.py", "unit/methods/test_kan.py"),
    "modules/replay": ("unit/methods/test_derpp.py",),
    "modules/task_attention": ("unit/modules/test_task_attention.py",),
    "modules/trunks": ("unit/modules/test_trunks.py",),
    "modules/variational": ("unit/methods/test_ucl.py",),
    "store/archive": ("unit/store/test_archive.py", "unit/store/test_received.py"),
    "store/card": ("unit/store/test_store.py -k card",),
    "store/deletion": ("unit/store/test_deletion.py",),
    "store/delta": ("unit/store/test_delta.py",),
    "store/manifest": (*_STORE, "unit/store/test_archive.py"),
    "store/store": (*_STORE, "unit/store/test_archive.py"),
    "store/versions": (*_STORE, "unit/store/test_received.py"),
    "evaluation/answers": ("unit/evaluation", "contract/test_pairs.py"),
    "evaluation/calibration": ("unit/evaluation/test_calibration.py",),
    "evaluation/details": ("unit/evaluation/test_details.py",),
    "evaluation/matrix": ("unit/evaluation/test_matrix.py",),
    "evaluation/metrics": ("unit/evaluation/test_metrics.py",),
    "evaluation/paired": ("unit/evaluation/test_paired.py",),
    "evaluation/scores": ("unit/evaluation", "unit/learning/test_sequence.py"),
    "serving/batcher": ("serving/test_batcher.py",),
    "serving/connections": ("serving/test_connections.py", "serving/test_shedding.py"),
    "serving/events": ("serving/test_events.py", "serving/test_teach.py"),
    "serving/gate": ("serving/test_gate.py",),
    "serving/guard": ("serving/test_guard.py", "serving/test_connections.py"),
    "serving/jobs": ("serving/test_full_disk.py", *_SERVICE),
    "serving/model": ("serving/test_predict.py", "serving/test_connections.py -k computes_once"),
    "serving/problems": ("serving/test_guard.py", "serving/test_predict.py", "serving/test_full_disk.py"),
    "serving/repeats": ("serving/test_connections.py -k counted",),
    "serving/routes_predict": ("serving/test_predict.py",),
    "serving/shedding": ("serving/test_shedding.py",),
    "serving/telemetry": ("serving/test_guard.py", "serving/test_predict.py"),
    "serving/uploads": ("serving/test_uploads.py",),
    "serving/versions": _SERVICE,
}

# Name of a mutant, and why it may survive.
EXPLAINED: dict[str, str] = {
    "serving/guard | if late > 0: | 11: late > 0 -> (late >= 0)": "sleeping for no time is not sleeping",
}
