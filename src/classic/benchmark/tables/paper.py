"""The paper's numbers, as printed: main table, appendix TIL/DIL table, standard deviations, sizes, ablations.

A row's name is a system without its scenario; `classic.systems.names.parse` builds it. Where main table and appendix
disagree (W2V NCL in DIL) the main table's number stands in `dil` and the appendix's in `dil_appendix`.
"""

from __future__ import annotations

from dataclasses import dataclass

Pair = tuple[float, float]


@dataclass(frozen=True)
class PaperRow:
    """One row of the paper.

    Attributes:
        system: Name without scenario, e.g. ``ewc@bert_frozen``.
        til, dil: Accuracy and macro-F1; None where the paper has none.
        deviation: Standard deviation of accuracy and macro-F1 over 5 seeds, DIL.
        parameters: Millions, as printed.
        seconds: Training time per task, as printed.
        dil_appendix: The appendix's DIL numbers where they differ from the main table's.
    """

    system: str
    til: Pair | None = None
    dil: Pair | None = None
    deviation: Pair | None = None
    parameters: float | None = None
    seconds: float | None = None
    dil_appendix: Pair | None = None


ROWS: tuple[PaperRow, ...] = (
    # Non-continual learning; the paper prints the same numbers under TIL and DIL.
    PaperRow("one@bert", (0.8584, 0.7635), (0.8584, 0.7635), (0.0145, 0.0300), 109.5, 600),
    PaperRow("one+csc@bert", (0.8353, 0.7388), (0.8353, 0.7388), (0.0127, 0.0336)),
    PaperRow("one@bert_frozen", (0.7814, 0.5813), (0.7814, 0.5813), (0.0100, 0.0024), 110.4, 500),
    PaperRow("one+csc@bert_frozen", (0.8265, 0.7232), (0.8265, 0.7232), (0.0140, 0.0149)),
    PaperRow("one@bert_adapter", (0.8596, 0.7807), (0.8596, 0.7807), (0.0170, 0.0379), 183.3, 684),
    PaperRow("one+csc@bert_adapter", (0.8530, 0.7516), (0.8530, 0.7516), (0.0094, 0.0327)),
    PaperRow("one@w2v", (0.7701, 0.5189), (0.7701, 0.5189), (0.0129, 0.0206), 6.7, 189),
    PaperRow("one+csc@w2v", (0.7761, 0.5487), (0.7761, 0.5487), (0.0092, 0.0079)),
    # Naive continual learning.
    PaperRow("ncl@bert", (0.4960, 0.4308), (0.8048, 0.7085), (0.0137, 0.0228), 109.5, 600),
    PaperRow("ncl+csc@bert", (0.5939, 0.3416), (0.7727, 0.5807), (0.0266, 0.0328)),
    PaperRow("ncl@bert_frozen", (0.8551, 0.7664), (0.8685, 0.7873), (0.0065, 0.0110), 110.4, 500),
    PaperRow("ncl+csc@bert_frozen", (0.8783, 0.8271), (0.8693, 0.7912), (0.0085, 0.0116)),
    PaperRow("ncl@bert_adapter", (0.5403, 0.4481), (0.8667, 0.7804), (0.0102, 0.0128), 183.3, 684),
    PaperRow("ncl+csc@bert_adapter", (0.8630, 0.8090), (0.8809, 0.7847), (0.0102, 0.0130)),
    PaperRow("ncl@w2v", (0.8269, 0.7356), (0.8408, 0.7455), (0.0192, 0.0230), 6.7, 189, dil_appendix=(0.7736, 0.6765)),
    PaperRow("ncl+csc@w2v", (0.8421, 0.7418), (0.8396, 0.7509), (0.0121, 0.0108)),
    # Frozen BERT.
    PaperRow("kan@bert_frozen", (0.8549, 0.7738), parameters=116.6, seconds=550),
    PaperRow("kan+last@bert_frozen", None, (0.8320, 0.7352), (0.0032, 0.0045)),
    PaperRow("kan+ent@bert_frozen", None, (0.8278, 0.7243), (0.0056, 0.0065)),
    PaperRow("srk@bert_frozen", (0.8476, 0.7852), (0.8391, 0.7438), (0.0069, 0.0099), 117.8, 600),
    PaperRow("ewc@bert_frozen", (0.8637, 0.7452), (0.8660, 0.7831), (0.0094, 0.0093), 110.4, 580),
    PaperRow("ucl@bert_frozen", (0.8389, 0.7482), (0.8538, 0.7690), (0.0084, 0.0100), 110.4, 638),
    PaperRow("owm@bert_frozen", (0.8702, 0.7931), (0.8611, 0.7665), (0.0092, 0.0140), 110.6, 635),
    PaperRow("derpp@bert_frozen", (0.8427, 0.7508), (0.8753, 0.8009), (0.0096, 0.0120), 115.0, 650),
    PaperRow("hat@bert_frozen", (0.8674, 0.7816), parameters=111.3, seconds=610),
    PaperRow("hat+last@bert_frozen", None, (0.8473, 0.7649), (0.0095, 0.0098)),
    PaperRow("hat+ent@bert_frozen", None, (0.8418, 0.7614), (0.0029, 0.0097)),
    # Adapter-BERT.
    PaperRow("ewc@bert_adapter", (0.5630, 0.4958), (0.8805, 0.7875), (0.0110, 0.0110), 183.3, 840),
    PaperRow("ucl@bert_adapter", (0.6446, 0.3664), (0.7123, 0.3961), (0.0000, 0.0000), 183.4, 870),
    PaperRow("owm@bert_adapter", (0.7299, 0.6651), (0.8766, 0.7882), (0.0052, 0.0109), 184.4, 780),
    PaperRow("derpp@bert_adapter", (0.4763, 0.3554), (0.8859, 0.7985), (0.0137, 0.0179), 184.0, 880),
    PaperRow("hat@bert_adapter", (0.8614, 0.7852), parameters=185.2, seconds=840),
    PaperRow("hat+last@bert_adapter", None, (0.8823, 0.7919), (0.0038, 0.0055)),
    PaperRow("hat+ent@bert_adapter", None, (0.8854, 0.8245), (0.0059, 0.0106)),
    # Word vectors.
    PaperRow("kan@w2v", (0.7206, 0.4001), parameters=7.0, seconds=150),
    PaperRow("kan+last@w2v", None, (0.7123, 0.3961), (0.0000, 0.0000)),
    PaperRow("kan+ent@w2v", None, (0.7123, 0.3961), (0.0000, 0.0000)),
    PaperRow("srk@w2v", (0.7101, 0.3963), (0.7123, 0.3961), (0.0000, 0.0000), 7.2, 160),
    PaperRow("ewc@w2v", (0.8416, 0.7229), (0.7586, 0.6545), (0.0059, 0.0076), 6.2, 162),
    PaperRow("ucl@w2v", (0.8441, 0.7599), (0.8187, 0.6965), (0.0097, 0.0128), 6.2, 135),
    PaperRow("owm@w2v", (0.8270, 0.7118), (0.8256, 0.7253), (0.0077, 0.0081), 6.4, 125),
    PaperRow("derpp@w2v", (0.8327, 0.6993), (0.8459, 0.7722), (0.0075, 0.0041), 6.8, 135),
    PaperRow("hat@w2v", (0.8083, 0.6363), parameters=6.4, seconds=180),
    PaperRow("hat+last@w2v", None, (0.7599, 0.5849), (0.0053, 0.0082)),
    PaperRow("hat+ent@w2v", None, (0.7605, 0.5349), (0.0103, 0.0199)),
    # GPT-2, and CLASSIC.
    PaperRow("lamol@gpt2", (0.8891, 0.8059), (0.8891, 0.8059), (0.0027, 0.0062), 124.4, 650),
    PaperRow("classic@bert_adapter", (0.8942, 0.8393), (0.9022, 0.8512), (0.0048, 0.0101), 185.2, 900),
)

FORWARD: dict[str, Pair] = {"til": (0.8897, 0.8338), "dil": (0.8886, 0.8365)}
"""CLASSIC (forward): each task right after it was learned; the diagonal of the same run."""

ABLATIONS: tuple[PaperRow, ...] = (
    PaperRow("classic@bert_adapter", dil=(0.9022, 0.8512)),
    PaperRow("classic-csc@bert_adapter", dil=(0.8872, 0.8007)),
    PaperRow("classic-cks@bert_adapter", dil=(0.8915, 0.8232)),
    PaperRow("classic-ced@bert_adapter", dil=(0.8828, 0.7934)),
    PaperRow("classic-cks-ced@bert_adapter", dil=(0.8864, 0.7969)),
    PaperRow("classic-cks-csc@bert_adapter", dil=(0.8926, 0.8346)),
    PaperRow("classic-ced-csc@bert_adapter", dil=(0.8868, 0.8032)),
    PaperRow("classic-ced-cks-csc@bert_adapter", dil=(0.8823, 0.7919)),
)


def row(system: str) -> PaperRow:
    """The row of a system, by its name without scenario."""
    for candidate in (*ROWS, *ABLATIONS):
        if candidate.system == system:
            return candidate
    from classic.errors import unknown_name

    raise unknown_name("row of the paper", system, [candidate.system for candidate in (*ROWS, *ABLATIONS)])
