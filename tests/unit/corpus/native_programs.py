# ruff: noqa: E501 (a program a line can be read down; broken into pieces it cannot)
"""Processes that die: faults in C and C++ below the framework, and what the C library and libstdc++ say then.

Each program builds a few lines of C++ and calls them from under `torch.compile`, as a broken kernel would be.
One kind is one fault; what dies of the same check of the C library in another place is the same kind only
when the place is.
"""

from __future__ import annotations

from programs import Program

SCRIPT = '''import ctypes
import os
import subprocess
import tempfile

import torch

SOURCE = r"""
{includes}
{code}
"""

folder = tempfile.mkdtemp(prefix="$y-")
source, library = os.path.join(folder, "$f.cpp"), os.path.join(folder, "$f.so")
with open(source, "w") as file:
    file.write(SOURCE)
base = os.path.dirname(torch.__file__)
os.environ["UBSAN_OPTIONS"] = "abort_on_error=1"
command = ["g++", "-shared", "-fPIC", {flags} "-w", source, "-o", library]
command += [f"-I{{base}}/include", f"-L{{base}}/lib", "-lc10", "-std=c++20"]
subprocess.run(command, check=True)
broken = ctypes.CDLL(library).broken


{call}'''

BACKEND = """def backend(graph, inputs):
    def $f(*args):
        broken($a)
        return graph.forward(*args)

    return $f


torch.compile(lambda $x: $x + 1, backend=backend)(torch.ones($a))
"""

OPERATOR = """@torch.library.custom_op("$f::op", mutates_args=())
def op($x: torch.Tensor) -> torch.Tensor:
    broken($a)
    return $x.clone()


op.register_fake(torch.empty_like)
torch.compile(lambda $x: op($x) + 1)(torch.ones($a))
"""

SANITISED = '''import os
import subprocess
import tempfile

folder = tempfile.mkdtemp(prefix="$y-")
source, binary = os.path.join(folder, "$f.cpp"), os.path.join(folder, "$f")
with open(source, "w") as file:
    file.write(r"""{code}
""")
subprocess.run(["g++", "-g", "-fsanitize=address", "-w", source, "-o", binary], check=True)
os.environ["ASAN_OPTIONS"] = "abort_on_error=1"
os.execv(binary, [binary])
'''


def native(kind: str, code: str, *, includes: str = "", flags: str = "", call: str = BACKEND) -> Program:
    """A C++ function `broken` called with a small integer, by a backend's compiled function."""
    shown = "\n".join(f"#include <{name}>" for name in includes.split())
    return Program(kind, SCRIPT.format(code=code, includes=shown, flags=flags, call=call))


def in_operator(kind: str, code: str, *, includes: str = "") -> Program:
    """The same called by a custom operator, under generated code."""
    return native(kind, code, includes=includes, call=OPERATOR)


def sanitised(kind: str, code: str) -> Program:
    """A program of its own under the address sanitizer, which cannot be loaded into a running Python."""
    return Program(kind, SANITISED.format(code=code))


THROWS = 'extern "C" int broken(int n) noexcept { throw %s; }'
CHECK = 'extern "C" int broken(int n) noexcept { TORCH_CHECK(n < 0, "%s", n); return n; }'

NATIVE: tuple[Program, ...] = (
    native("invalid-read", 'extern "C" int broken(int n) { volatile int* p = nullptr; return *p + n; }'),
    native("invalid-read", 'extern "C" int broken(int n) { return *(volatile int*)(0xdead0000UL + n); }'),
    native("unaligned-bus-error", '#include <csignal>\nextern "C" int broken(int n) { return raise(SIGBUS); }'),
    native("integer-division", 'extern "C" int broken(int n) { volatile int zero = 0; return n / zero; }'),
    native("illegal-instruction", 'extern "C" int broken(int n) { __builtin_trap(); return n; }'),
    native("plain-abort", 'extern "C" int broken(int n) { std::abort(); }', includes="cstdlib"),
    native("assert-positive", 'extern "C" int broken(int n) { assert(n < 0 && "stride of $y"); return n; }', includes="cassert"),
    native("assert-bounds", 'static void at(int index) { assert(index < 2); }\nextern "C" int broken(int n) { at(n); return n; }', includes="cassert"),
    native("uncaught-runtime-error", THROWS % 'std::runtime_error("no kernel for size " + std::to_string(n))', includes="stdexcept string"),
    native("uncaught-out-of-range", 'extern "C" int broken(int n) noexcept { std::vector<int> v(n); return v.at(n + 2); }', includes="vector stdexcept"),
    native("uncaught-int", THROWS % "n"),
    native("uncaught-bad-variant", 'extern "C" int broken(int n) noexcept { return std::get<1>(std::variant<int, float>(n)); }', includes="variant"),
    native("uncaught-c10-size", CHECK % "expected a negative size but got ", includes="c10/util/Exception.h"),
    native("uncaught-c10-stride", CHECK % "negative strides only, this one is ", includes="c10/util/Exception.h"),
    native("c10-internal-assert", 'extern "C" int broken(int n) noexcept { TORCH_INTERNAL_ASSERT(n < 0, "storage of ", n); return n; }', includes="c10/util/Exception.h"),
    native("pure-virtual", 'struct A { A() { g(); } void g() { f(); } virtual void f() = 0; };\nstruct B : A { void f() override {} };\nextern "C" int broken(int n) { B b; return n; }'),
    native("free-invalid-pointer", 'extern "C" int broken(int n) { char* p = (char*)std::malloc(64); std::free(p + n * 2 + 1); return n; }', includes="cstdlib"),
    native("double-free", 'extern "C" int broken(int n) { void* v[9]; for (auto& p : v) p = std::malloc(1200 + n); std::free(v[3]); std::free(v[3]); return n; }', includes="cstdlib", flags='"-O0",'),
    native("stack-smashed", 'extern "C" int broken(int n) { char small[8]; volatile char* p = small; for (int i = 0; i < 64 + n; i++) p[i] = 65; return small[0]; }', flags='"-fstack-protector-all",'),
    native("buffer-overflow", 'extern "C" int broken(int n) { char small[4]; volatile int many = 64 + n; std::memset(small, 1, many); return small[n]; }', includes="cstring", flags='"-O2", "-D_FORTIFY_SOURCE=2",'),
    native("glibcxx-vector-bounds", 'extern "C" int broken(int n) { std::vector<float> v(2); return (int)v[n]; }', includes="vector", flags='"-D_GLIBCXX_ASSERTIONS",'),
    native("ubsan-overflow", 'extern "C" int broken(int n) { volatile int most = 2147483647; return most + n; }', flags='"-fsanitize=undefined", "-fno-sanitize-recover=all",'),
    native("ubsan-shift", 'extern "C" int broken(int n) { volatile int by = 40 + n; return n << by; }', flags='"-fsanitize=undefined", "-fno-sanitize-recover=all",'),
    native("ubsan-index", 'static int table[3];\nextern "C" int broken(int n) { volatile int at = n; return table[at]; }', flags='"-fsanitize=undefined", "-fno-sanitize-recover=all",'),
    in_operator("invalid-read-in-operator", 'extern "C" int broken(int n) { volatile int* p = nullptr; return p[n]; }'),
    in_operator("uncaught-c10-in-operator", CHECK % "no storage for item ", includes="c10/util/Exception.h"),
    sanitised("asan-heap-overflow", "static int sum(int* p, int n) { int s = 0; for (int i = 0; i <= n; i++) s += p[i]; return s; }\nint main() { int* p = new int[$a](); return sum(p, $a); }"),
    sanitised("asan-use-after-free", "static int first(int* p) { return p[0]; }\nint main() { int* p = new int[$a](); delete[] p; return first(p); }"),
    sanitised("asan-stack-overflow", "static int read(int n) { volatile int small[3] = {1, 2, 3}; return small[n]; }\nint main() { volatile int n = $a; return read(n); }"),
)  # fmt: skip
