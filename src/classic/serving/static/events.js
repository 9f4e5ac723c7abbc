// Server-sent events over fetch (EventSource cannot send a token), taken up again whenever they break off.

import { pause, request } from "./api.js";

const SILENCE = 30000; // the service says something every 10 s; without a word for so long, the line is dead
const LONGEST = 10000;

/** Follows a job until it ends or the signal is given. Calls `on(event, data)`. Throws what waiting cannot mend. */
export async function followJob(id, signal, on) {
  let wait = 500;
  while (!signal.aborted) {
    const silence = new AbortController();
    try {
      const response = await request(`/v1/jobs/${id}/events`, { signal: AbortSignal.any([signal, silence.signal]) });
      for await (const { event, data } of read(response.body, silence)) {
        if (signal.aborted) return; // what was read before is nobody's business any more
        wait = 500;
        on(event, data);
        if (event === "end") return;
      }
    } catch (problem) {
      if (signal.aborted) return;
      if (problem.status === 404) throw problem;
      on("lost", problem);
    }
    await pause(wait, signal).catch(() => {});
    wait = Math.min(2 * wait, LONGEST);
  }
}

async function* read(body, silence) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let timer = null;
  try {
    for (;;) {
      timer = setTimeout(() => silence.abort(), SILENCE);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      text += value;
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const event = block.match(/^event: (.*)$/m)?.[1];
        if (event) yield { event, data: JSON.parse(block.match(/^data: (.*)$/m)[1]) };
      }
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}
