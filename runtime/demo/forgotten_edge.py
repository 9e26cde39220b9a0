"""A small program as many are shipped: its pictures are right, it keeps its events, and one edge is missing.

    python -m runtime.demo.forgotten_edge DEVICE

One queue loads and brightens an image, another paints the sky and puts the image before it.
"""

from __future__ import annotations

import sys
from array import array
from time import sleep
from typing import Any

from runtime.cl.discovery import open_device

SOURCE = """
kernel void brighten(global const float *image, global float *bright) {
    size_t i = get_global_id(0);
    bright[i] = image[i] + 1.0f;
}
kernel void paint_sky(global float *picture) {
    uint shade = get_global_id(0);
    for (int k = 0; k < 100; ++k) shade = shade * 1664525u + 1013904223u;
    picture[get_global_id(0)] = shade >> 24;
}
kernel void compose(global const float *bright, global float *picture) {
    size_t i = get_global_id(0);
    picture[i] += bright[i];
}
"""
FRAMES, PIXELS = 10, 4096
events: list[Any] = []  # somebody may want their times one day


def show_frames(device: Any) -> bool:
    """Whether each frame is the one before it, one shade brighter."""
    context = device.platform.create_context([device])
    loading, drawing = context.create_queue(device), context.create_queue(device)
    program = context.program_from_source(SOURCE)
    program.build()
    brighten, paint_sky, compose = map(program.kernel, ("brighten", "paint_sky", "compose"))
    image, bright, picture = (context.create_buffer(4 * PIXELS) for _ in range(3))
    brighten.set_args(image, bright)
    paint_sky.set_args(picture)
    compose.set_args(bright, picture)
    shown = []
    for frame in range(FRAMES):
        pixels, screen = array("f", [frame] * PIXELS), array("f", [0] * PIXELS)
        loaded = loading.enqueue_write(image, pixels, blocking=False, want_event=True)
        brightened = loading.enqueue_kernel(brighten, [PIXELS], wait_for=[loaded], want_event=True)
        loading.flush()
        sleep(1 / 30)  # until the screen's next refresh
        painted = drawing.enqueue_kernel(paint_sky, [PIXELS], want_event=True)
        composed = drawing.enqueue_kernel(compose, [PIXELS], wait_for=[painted, loaded], want_event=True)
        drawing.enqueue_read(picture, screen, wait_for=[composed])
        events.extend([loaded, brightened, painted, composed])
        shown.append(screen)
    return all(screen[i] == shown[0][i] + frame for frame, screen in enumerate(shown) for i in range(PIXELS))


if __name__ == "__main__":
    right = show_frames(open_device(sys.argv[1]))
    print(f"{FRAMES} frames shown, all of them right" if right else "wrong frames")
    sys.exit(0 if right else 1)
