"""PTX text becomes records that say the same, or the parser says which piece it does not know."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.dirigo.ptx.model import Address, Group, Immediate, Register, Symbol
from fuzzers.dirigo.ptx.operands import Unreadable, immediate, operand, operands, variables
from fuzzers.dirigo.ptx.parser import parse

MODULE = """
.version 9.5
.target sm_80
.address_size 64
.extern .func  (.param .b32 func_retval0) __sym_expf
(
\t.param .b32 __sym_expf_param_0
)
;
.visible .const .align 4 .f32 COEF = 0f3D372713;
.extern .shared .align 16 .b8 dynamic[];
.visible .entry kernel(
\t.param .u64 kernel_param_0,
\t.param .align 8 .b8 kernel_param_1[24]
)
.maxntid 256, 1, 1
{
\t.local .align 16 .b8 \t__local_depot0[32];
\t.reg .pred \t%p<3>;
\t.reg .f32 \t%f<4>;
\t.reg .b64 \t%rd<3>;
\t.loc\t1 7 3
\tld.param.u64 \t%rd1, [kernel_param_0];
\t.loc\t2 99 1, function_name $L__info0, inlined_at 1 12 5
\tld.global.v2.f32 \t{%f1, %f2}, [%rd1+8];
\tsetp.lt.f32 \t%p1|%p2, %f1, 0f3F800000;
\t@!%p1 bra \t$L__BB0_2;
\t{ // callseq 0, 0
\t.param .b32 param0;
\tst.param.f32 \t[param0+0], %f1;
\t.param .b32 retval0;
\tcall.uni (retval0), __sym_expf, (param0);
\tld.param.f32 \t%f3, [retval0+0];
\t} // callseq 0
$L__BB0_2:
\t// begin inline asm
\t{  neg.f32 %f3, %f3;}
\t// end inline asm
\tst.global.f32 \t[%rd1], %f3;
\tret;
}
\t.file\t1 "/somewhere/kernel.cu"
\t.file\t2 "/somewhere/prelude.cuh"
\t.section\t.debug_str
\t{
$L__info0:
.b8 95,90,0
\t}
"""


def test_a_module_is_read_whole() -> None:
    module = parse(MODULE)
    assert module.externals == {"__sym_expf"}
    assert set(module.functions) == {"kernel"}
    assert module.variables["COEF"].initial == np.float32(0.044715).tobytes()
    assert module.variables["dynamic"].size == 0
    kernel = module.functions["kernel"]
    assert [(p.name, p.size) for p in kernel.params] == [("kernel_param_0", 8), ("kernel_param_1", 24)]
    assert kernel.variables["__local_depot0"].size == 32
    assert kernel.registers == {"%p": "pred", "%f": "f32", "%rd": "b64"}
    names = [instruction.name for instruction in kernel.body]
    assert names == [
        *("ld.param.u64", "ld.global.v2.f32", "setp.lt.f32", "bra", "st.param.f32", "call.uni"),
        *("ld.param.f32", "neg.f32", "st.global.f32", "ret"),
    ]
    assert kernel.body[kernel.labels["$L__BB0_2"]].name == "neg.f32"


def test_a_line_is_the_sources_own_also_where_a_header_was_inlined() -> None:
    lines = [instruction.line for instruction in parse(MODULE).functions["kernel"].body]
    assert lines[:2] == [7, 12]


def test_guards_and_pairs_keep_their_sense() -> None:
    body = parse(MODULE).functions["kernel"].body
    assert body[3].guard == Register("%p1", negated=True)
    assert body[2].operands[0] == Group((Register("%p1"), Register("%p2")))


def test_two_calls_do_not_share_their_parameters() -> None:
    twice = MODULE.replace(
        "$L__BB0_2:", MODULE[MODULE.index("\t{ // callseq") : MODULE.index("$L__BB0_2:")] + "$L__BB0_2:"
    )
    stores = [i.operands[0] for i in parse(twice).functions["kernel"].body if i.name == "st.param.f32"]
    assert len(set(stores)) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%r1", Register("%r1")),
        ("!%p2", Register("%p2", negated=True)),
        ("-7", Immediate(-7)),
        ("0x1F", Immediate(31)),
        ("0f3F800000", Immediate(0x3F800000, 4)),
        ("0dBFF0000000000000", Immediate(0xBFF0000000000000, 8)),
        ("[%rd1+-16]", Address(Register("%rd1"), -16)),
        ("[held+4]", Address(Symbol("held"), 4)),
        ("{%f1, _}", Group((Register("%f1"), Register("_")))),
        ("held+12", Symbol("held", 12)),
    ],
)
def test_operands(text: str, expected: object) -> None:
    assert operand(text) == expected


@given(st.floats(width=32, allow_nan=False))
def test_a_float_literal_is_its_bits(value: float) -> None:
    bits = int(np.float32(value).view(np.uint32))
    literal = immediate(f"0f{bits:08X}")
    assert literal == Immediate(bits, 4)


@given(st.integers(-(2**63), 2**64 - 1))
def test_an_integer_literal_is_itself(value: int) -> None:
    assert immediate(str(value)) == Immediate(value)


@given(st.lists(st.sampled_from(["%r1", "7", "[%rd1+4]", "{%f1, %f2}", "sym", "(a, b)"]), max_size=5))
def test_operands_are_split_at_outer_commas_only(pieces: list[str]) -> None:
    assert operands(", ".join(pieces)) == tuple(operand(piece) for piece in pieces)


def test_an_address_in_an_initialiser_is_remembered() -> None:
    (table,) = variables(".global .align 8 .u64 table[2] = {generic(one), two}")
    assert table.pointers == {0: Symbol("one"), 8: Symbol("two")}
    assert table.size == len(table.initial) == 16


@pytest.mark.parametrize("text", ["%r1 %r2", "@#", "1.5"])
def test_an_unknown_operand_is_named(text: str) -> None:
    with pytest.raises(Unreadable, match=r"."):
        operand(text)


def test_an_unknown_statement_is_named() -> None:
    with pytest.raises(Unreadable, match="%%"):
        parse(MODULE.replace("ret;", "%% strange;"))


def test_a_register_that_inline_assembly_names_without_a_sign_is_a_register() -> None:
    assembly = (
        "\t{ .reg .pred __$temp3;\n  setp.lt.f16  __$temp3, %f1, %f2;\n  selp.u16 %f3, 1, 0, __$temp3;}\n"
    )
    kernel = parse(MODULE.replace("\tret;", assembly + "\tret;")).functions["kernel"]
    written = next(i for i in kernel.body if i.name == "setp.lt.f16").operands[0]
    read = next(i for i in kernel.body if i.name == "selp.u16").operands[3]
    assert isinstance(written, Register)
    assert written == read
    assert kernel.registers["%__$temp"] == "pred"


def test_a_line_that_merged_code_lost_is_the_one_before() -> None:
    lost = MODULE.replace("\tst.global", "\t.loc\t1 0 0\n\tst.global")
    assert [i.line for i in parse(lost).functions["kernel"].body][-2] == 12


def test_a_branch_table_belongs_to_the_label_before_it() -> None:
    table = "$L__BB0_1:\n$L_brx_0: .branchtargets $L__BB0_2, $L__BB0_1;\n\tbrx.idx \t%r1, $L_brx_0;\n"
    kernel = parse(MODULE.replace("\tret;", table + "\tret;")).functions["kernel"]
    assert kernel.tables == {"$L_brx_0": ("$L__BB0_2", "$L__BB0_1")}
