"""Handwritten PTX runs without a compiler: what NVRTC seldom emits is tested here."""

from __future__ import annotations

import numpy as np

from fuzzers.dirigo.ptx.parser import parse
from fuzzers.dirigo.simt.launch import Device, pointer
from fuzzers.dirigo.simt.program import program

TABLE = """
.visible .entry k(.param .u64 k_param_0)
{
 .reg .b32 %r<6>;
 .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [k_param_0];
 mov.u32 %r1, %tid.x;
 mul.wide.u32 %rd2, %r1, 4;
 add.s64 %rd3, %rd1, %rd2;
 and.b32 %r2, %r1, 3;
$L_table: .branchtargets $L_a, $L_b, $L_a, $L_c;
 brx.idx %r2, $L_table;
$L_a:
 mov.u32 %r3, 10;
 bra.uni $L_end;
$L_b:
 mov.u32 %r3, 20;
 bra.uni $L_end;
$L_c:
 mov.u32 %r3, 30;
$L_end:
 add.s32 %r4, %r3, %r1;
 st.global.u32 [%rd3], %r4;
 ret;
}
"""


def test_a_branch_table_sends_every_lane_to_its_own_target() -> None:
    device = Device()
    out = device.empty(64, "int32")
    run = device.launch(program(parse(TABLE), "k"), (1, 1, 1), (64, 1, 1), [pointer(out)])
    assert run.stopped is None
    assert out.numbers().tolist() == [(10, 20, 10, 30)[t % 4] + t for t in range(64)]


def test_a_wrong_number_of_arguments_stops_the_run_with_a_reason() -> None:
    run = Device().launch(program(parse(TABLE), "k"), (1, 1, 1), (64, 1, 1), [])
    assert run.stopped is not None
    assert "arguments" in run.stopped.reason


def test_a_pointer_to_nowhere_is_an_event_and_no_crash() -> None:
    null = np.zeros(1, np.uint64).tobytes()
    run = Device().launch(program(parse(TABLE), "k"), (1, 1, 1), (64, 1, 1), [null])
    assert [event.times for event in run.events] == [64]
