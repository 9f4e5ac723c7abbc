"""W3: 300 texts that are scripts in other people's pages stay texts in ours, wherever they are shown."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from .conftest import PATIENCE, go
from .test_page_teach import drop
from .test_page_try import word, write

expect.set_options(timeout=PATIENCE)

VECTORS = (
    "<script>hit=1</script>",
    "<script src=//192.0.2.1/x.js></script>",
    "<img src=x onerror=hit=1>",
    "<svg onload=hit=1>",
    "<svg><script>hit=1</script></svg>",
    "<svg><animate onbegin=hit=1 attributeName=x dur=1s>",
    "<body onload=hit=1>",
    "<iframe srcdoc='<script>parent.hit=1</script>'>",
    "<iframe src=javascript:parent.hit=1>",
    "<a href=javascript:hit=1 autofocus onfocus=hit=1>lens</a>",
    "<input autofocus onfocus=hit=1>",
    "<details open ontoggle=hit=1>",
    "<video><source onerror=hit=1></video>",
    "<audio src=x onerror=hit=1>",
    "<marquee onstart=hit=1>",
    "<object data=javascript:hit=1>",
    "<embed src=javascript:hit=1>",
    "<math><mtext><table><mglyph><style><img src=x onerror=hit=1>",
    "<form action=javascript:hit=1><button autofocus>lens</button></form>",
    "<base href=//192.0.2.1/>",
    "<link rel=stylesheet href=//192.0.2.1/x.css>",
    "<meta http-equiv=refresh content=0;url=javascript:hit=1>",
    "<style>@import'//192.0.2.1/x.css'</style>",
    "<template><script>hit=1</script></template>",
    "javascript:hit=1//",
    "${hit=1}{{hit=1}}<%= hit=1 %>lens",
    "[lens](javascript:hit=1)",
    "![lens](x onerror=hit=1)",
    "&lt;img src=x onerror=hit=1&gt;",
    "<noscript><p title='</noscript><img src=x onerror=hit=1>'>",
)
WRAPPERS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f'">{text}',
    lambda text: f"'>{text}",
    lambda text: f"</textarea>{text}",
    lambda text: f"</script>{text}",
    lambda text: f"-->{text}",
    lambda text: f"]]>{text}",
    lambda text: text.upper().replace("HIT=1", "hit=1"),
    lambda text: text.replace(" ", "/") + "/",
    lambda text: f"{text[:1]}\x0c{text[1:]}",
)
PAYLOADS = [wrap(vector) for wrap in WRAPPERS for vector in VECTORS]
ALIVE = (
    "[...document.querySelectorAll('*')].filter(e => e.matches('script, iframe, img, object, embed, base, link, meta, "
    'style, video, audio, math, marquee, template, [href^="javascript:"], [srcdoc]\') || '
    "[...e.attributes].some(a => a.name.startsWith('on'))).length"
)


def check(page: Page, alive: int) -> None:
    """Nothing ran, and nothing came to be that could."""
    assert page.evaluate("typeof hit") == "undefined"
    assert page.evaluate(ALIVE) == alive


def test_there_are_three_hundred() -> None:
    assert len(set(PAYLOADS)) == 300


def test_scripts_in_reviews_and_aspects_stay_text(page: Page) -> None:
    alive = page.evaluate(ALIVE)
    for start in range(0, len(PAYLOADS), 60):
        write(page, "the lens is good " + " ".join(PAYLOADS[start : start + 60]))
        expect(page.locator("#words")).to_contain_text(PAYLOADS[start].split()[0])
        check(page, alive)
    write(page, f"good {VECTORS[2].replace(' ', '')} is good")
    word(page, "onerror").click()  # the script itself is the aspect that is asked about
    expect(page.get_by_role("article")).to_have_count(1)
    check(page, alive)


def test_scripts_in_files_their_names_and_errors_stay_text(page: Page) -> None:
    go(page, "Teach")
    alive = page.evaluate(ALIVE)
    rows = [f'"{text.replace(chr(34), chr(34) * 2)}",lens,{number % 7}' for number, text in enumerate(PAYLOADS)]
    content = "\n".join(["sentence,aspect,polarity", *rows]).replace("\x0c", " ").encode()
    drop(page, "<img src=x onerror=hit=1>.csv", content)
    expect(page.get_by_text("onerror").first).to_be_visible()  # shown, to be mended
    check(page, alive)
