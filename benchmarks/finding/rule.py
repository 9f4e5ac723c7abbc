"""A rule that needs no training, in place of the noun chunks other tools start from (their tagger was not to be had here).

An aspect is every longest run of words that look like nouns: letters only, none of the function words and everyday verbs and
adjectives below, and no ending of adverbs, adjectives or verb forms.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|[^\sA-Za-z]+")
_ENDINGS = ("ly", "ed", "ing", "ous", "ful", "able", "ible", "ive", "less", "est", "ish", "n't")
_LIST = """
a an the this that these those my your his her its our their some any no every each all both few many much more most
other another such own same i me you he him she it we us they them who whom which what when where why how there here
one ones and or but nor so yet if because as until while of at by for with about against between into through during
before after above below to from up down in out on off over under again further then once than too very just also even
only not never always often ever still already really quite rather almost is am are was were be been being have has
had do does did will would shall should can could may might must ca wo s t re ve ll d m get gets got go goes went come
comes came make makes made take takes took give gives gave say says said see sees saw know knows knew think thinks
thought want wants need needs use uses used find finds found tell tells told ask asks feel feels felt leave left put
keep keeps kept let begin seem seems help show hear play run runs ran move like likes love loves hate hates try tries
buy bought pay paid order ordered eat ate work works look looks recommend good great nice bad best better worst worse
awful terrible horrible amazing awesome excellent fantastic perfect wonderful fine okay ok poor cheap expensive big
small large little long short high low new old fast slow quick easy hard hot cold warm fresh friendly rude happy sad
sure right wrong able full free real clean dirty quiet loud bright dark light heavy first last next second well back
away around far near now today yesterday ago soon later maybe perhaps however although though since without within
anything something nothing everything anyone someone everyone nobody lot lots bit way thing things time times day days
week month months year years people place please thanks yes oh wow etc
"""
_OTHER = set(_LIST.split())


def noun_runs(sentence: str) -> list[tuple[int, int]]:
    """The places of the runs, from left to right.

    >>> noun_runs("The battery life is great but my screen flickers badly.")
    [(4, 16), (33, 48)]
    """
    found: list[tuple[int, int]] = []
    running = False
    for match in _WORD.finditer(sentence):
        word = match[0].casefold()
        noun = word[0].isalpha() and word not in _OTHER and not word.endswith(_ENDINGS)
        if noun and running:
            found[-1] = (found[-1][0], match.end())
        elif noun:
            found.append(match.span())
        running = noun
    return found
