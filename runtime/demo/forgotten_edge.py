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
FRAMES, N = 10, (4096,)
events: list[Any] = []  # somebody may want their times one day


def built(context: Any) -> Any:
    """The program, compiled."""
    program = context.program_from_source(SOURCE)
    program.build()
    return program


def show_frames(device: Any) -> bool:
    """Whether each frame is the one before it, one shade brighter."""
    frames = []
    with (
        device.platform.create_context([device]) as context,
        context.create_queue(device) as load,
        context.create_queue(device) as draw,
        context.create_buffer(4 * N[0]) as image,
        context.create_buffer(4 * N[0]) as bright,
        context.create_buffer(4 * N[0]) as picture,
        built(context) as program,
        program.kernel("brighten") as brighten,
        program.kernel("paint_sky") as paint_sky,
        program.kernel("compose") as compose,
    ):
        brighten.set_args(image, bright)
        paint_sky.set_args(picture)
        compose.set_args(bright, picture)
        for shade in range(FRAMES):
            pixels, screen = array("f", [shade] * N[0]), array("f", [0] * N[0])
            loaded = load.enqueue_write(image, pixels, blocking=False, want_event=True)
            lit = load.enqueue_kernel(brighten, N, wait_for=[loaded], want_event=True)
            load.flush()
            sleep(1 / 30)  # until the screen's next refresh
            draw.enqueue_kernel(paint_sky, N)
            done = draw.enqueue_kernel(compose, N, wait_for=[loaded], want_event=True)
            draw.enqueue_read(picture, screen, wait_for=[done])
            events.extend([loaded, lit, done])
            frames.append(screen)
    return all(frame[i] == frames[0][i] + n for n, frame in enumerate(frames) for i in range(N[0]))


def told(right: bool) -> str:
    """What a user of the program sees."""
    return f"{FRAMES} frames shown, all of them right" if right else "wrong frames"


if __name__ == "__main__":
    right = show_frames(open_device(sys.argv[1]))
    print(told(right))
    sys.exit(0 if right else 1)
