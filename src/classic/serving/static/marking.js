// A text whose words can be marked: by dragging, tapping, or with the keyboard.

import { h, put } from "./dom.js";
import { SIGNS } from "./format.js";
import { pieces } from "./words.js";

/**
 * @param {HTMLElement} place  where the words go
 * @param {(span: {start: number, end: number}) => void} onMark  told what was marked; a marked word given again is to be unmarked
 */
export function makeMarker(place, onMark) {
  let buttons = [];
  let drawn = null; // what is on the screen, to leave it alone if nothing changed: somebody may be dragging over it
  let anchor = null; // number of the word where a drag or Shift began
  let head = null;
  let pointed = false; // a pointer has just marked something

  function render(text, marks) {
    const wanted = JSON.stringify([text, marks]);
    if (wanted === drawn) return;
    drawn = wanted;
    const focused = buttons.indexOf(document.activeElement);
    buttons = [];
    const content = [];
    let group = null;
    for (const piece of pieces(text)) {
      const mark = marks.find((each) => each.start < piece.end && piece.start < each.end) ?? null;
      if (mark !== group?.mark) {
        group = mark && { mark, element: h("mark", { class: `aspect ${mark.polarity ?? "waiting"}` }) };
        if (group) content.push(group.element);
      }
      const shown = piece.word ? wordButton(piece, mark) : piece.text;
      if (group) group.element.append(shown);
      else content.push(shown);
    }
    for (const each of content) {
      const sign = SIGNS[each.classList?.[1]];
      if (sign) each.append(h("span", { class: "sign", "aria-hidden": "true" }, sign));
    }
    put(place, content);
    if (buttons.length) buttons[Math.max(0, Math.min(focused, buttons.length - 1))].tabIndex = 0;
    if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)]?.focus();
  }

  function wordButton(piece, mark) {
    const said = mark?.polarity ? `${piece.text}, ${mark.polarity}` : null;
    // No button element: that is a box of its own, and boxes do not follow the order of right-to-left text.
    const button = h("span", { role: "button", class: "word", tabindex: "-1", "aria-pressed": String(mark !== null), "aria-label": said }, piece.text);
    button.dataset.start = piece.start;
    button.dataset.end = piece.end;
    buttons.push(button);
    return button;
  }

  function numberAt(event) {
    return buttons.indexOf(document.elementFromPoint(event.clientX, event.clientY)?.closest(".word"));
  }

  function highlight() {
    const [first, last] = anchor === null ? [1, 0] : [Math.min(anchor, head), Math.max(anchor, head)];
    buttons.forEach((button, number) => button.classList.toggle("dragged", number >= first && number <= last));
  }

  function finish(mark) {
    const [first, last] = [Math.min(anchor, head), Math.max(anchor, head)];
    anchor = head = null;
    highlight();
    if (mark) onMark({ start: Number(buttons[first].dataset.start), end: Number(buttons[last].dataset.end) });
  }

  place.addEventListener("pointerdown", (event) => {
    const number = buttons.indexOf(event.target.closest(".word"));
    if (number < 0 || event.button !== 0) return;
    event.target.releasePointerCapture?.(event.pointerId); // touch would hold on to the first word
    pointed = false;
    anchor = head = number;
  });
  addEventListener("pointermove", (event) => {
    if (anchor === null || !event.buttons) return;
    const number = numberAt(event);
    if (number >= 0) head = number;
    if (head !== anchor) highlight();
  });
  addEventListener("pointerup", () => {
    if (anchor === null) return;
    pointed = true;
    finish(true);
  });
  addEventListener("pointercancel", () => anchor !== null && finish(false));

  // Keyboards and screen readers click without pointing; the click that follows a pointer is answered already. (It could
  // not be waited for: it never comes if an answer made the words anew between the pressing and the letting go.)
  place.addEventListener("click", (event) => {
    const button = event.target.closest(".word");
    const answered = pointed && event.detail > 0;
    pointed = false;
    if (button && !answered) onMark({ start: Number(button.dataset.start), end: Number(button.dataset.end) });
  });
  place.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const ahead = getComputedStyle(place).direction === "rtl" ? -1 : 1;
    const target = { ArrowRight: at + ahead, ArrowLeft: at - ahead, Home: 0, End: buttons.length - 1 }[event.key];
    if ((event.key === "Enter" || event.key === " ") && at >= 0) {
      event.preventDefault();
      anchor ??= head = at;
      finish(true);
    } else if (event.key === "Escape" && anchor !== null) {
      finish(false);
    } else if (at >= 0 && target !== undefined && buttons[target]) {
      event.preventDefault();
      anchor = event.shiftKey ? (anchor ?? at) : null;
      head = target;
      highlight();
      buttons[at].tabIndex = -1;
      buttons[target].tabIndex = 0;
      buttons[target].focus();
    }
  });

  return { render };
}
