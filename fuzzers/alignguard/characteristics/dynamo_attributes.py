"""Dynamo: attributes and modules that change between two calls."""

from __future__ import annotations

import ast
from collections.abc import Callable

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import second_call
from fuzzers.alignguard.needs import filled, floating, numeric
from fuzzers.alignguard.reading.reader import Reading
from fuzzers.alignguard.variants import Variant, any_of

BOX = "class {Box}:\n    scale = 2\n\n\n{box} = {Box}()"
NET = (
    "class {Net}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.scale = 2\n\n    def forward(self, {p}):\n"
    "        return {p} * self.scale\n\n\n{net} = {Net}()"
)


PLAIN_NET = (
    "class {Net}(torch.nn.Module):\n    def forward(self, {p}):\n        return {p} - 1\n\n\n{net} = {Net}()"
)


def _calls(*names: str) -> Callable[[ast.AST], bool]:
    return lambda n: (
        isinstance(n, ast.Call)
        and (n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "")) in names
    )


def _classes(reading: Reading) -> set[str]:
    return {n.name for n in reading.tree.body if isinstance(n, ast.ClassDef)}


def _class_attribute_set(reading: Reading) -> bool:
    classes = _classes(reading)
    return second_call(
        lambda n: (
            isinstance(n, ast.Assign)
            and any(
                isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id in classes
                for t in n.targets
            )
        )
    )(reading)


def _instance_attribute_set(reading: Reading) -> bool:
    classes = _classes(reading)
    return second_call(
        lambda n: (
            isinstance(n, ast.Assign)
            and any(
                isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id not in classes
                for t in n.targets
            )
        )
    )(reading)


DYNAMO_ATTRIBUTES: tuple[Characteristic, ...] = (
    Characteristic(
        "attribute changed between calls",
        Stage.DYNAMO,
        "f reads an attribute of an object or module, which has another value in the second call.",
        "The compiled code holds the first value as a constant, and a guard must notice the change.",
        "# box.scale is 2, then again() sets box.scale = 3\nreturn x * box.scale",
        _instance_attribute_set,
        any_of(
            Variant(
                "{y} = {x} * {box}.scale",
                (numeric,),
                same=True,
                module=BOX,
                setup="{box}.scale = 2",
                again="{box}.scale = 3",
            ),
            Variant(
                "{y} = {net}({x})", (numeric,), module=NET, setup="{net}.scale = 2", again="{net}.scale = 3"
            ),
            Variant(
                "{y} = {x} if {box}.scale is None else {x} * {box}.scale",
                (numeric,),
                same=True,
                module=BOX,
                setup="{box}.scale = None",
                again="{box}.scale = 3",
            ),
            Variant(
                "if {box}.mode == 'double':\n    {y} = {x} * 2\nelse:\n    {y} = {x} - 1",
                (numeric,),
                module="class {Box}:\n    mode = 'double'\n\n\n{box} = {Box}()",
                setup="{box}.mode = 'double'",
                again="{box}.mode = 'less'",
            ),
        ),
    ),
    Characteristic(
        "class attribute changed between calls",
        Stage.DYNAMO,
        "f reads an attribute through an instance; the class, not the instance, is changed before "
        "the second call.",
        "Guards on the instance's own dictionary do not see it.",
        "# class Box: scale = 2; again() sets Box.scale = 3\nreturn x * box.scale",
        _class_attribute_set,
        any_of(
            Variant(
                "{y} = {x} * {box}.scale",
                (numeric,),
                same=True,
                module=BOX,
                setup="{Box}.scale = 2",
                again="{Box}.scale = 3",
            ),
            Variant(
                "{y} = {box}.apply({x})",
                (numeric,),
                module="class {Base}:\n    scale = 2\n\n    def apply(self, {p}):\n"
                "        return {p} * self.scale\n\n\n"
                "class {Box}({Base}):\n    pass\n\n\n{box} = {Box}()",
                setup="{Base}.scale = 2",
                again="{Base}.scale = 3",
            ),
            Variant(
                "{y} = {net}({x})",
                (numeric,),
                module="class {Net}(torch.nn.Module):\n    scale = 2\n\n    def forward(self, {p}):\n"
                "        return {p} * self.scale\n\n\n{net} = {Net}()",
                setup="{Net}.scale = 2",
                again="{Net}.scale = 3",
            ),
        ),
    ),
    Characteristic(
        "attribute shadowed through the dictionary",
        Stage.DYNAMO,
        "An attribute of the class is shadowed in the instance's dictionary before the second call.",
        "The lookup takes another way through descriptors, dictionary and class; a guard covers one of them.",
        "# again(): vars(box)['scale'] = 3\nreturn x * box.scale",
        second_call(_calls("vars", "setattr", "delattr")),
        any_of(
            Variant(
                "{y} = {x} * {box}.scale",
                (numeric,),
                same=True,
                module=BOX,
                setup="vars({box}).pop('scale', None)",
                again="vars({box})['scale'] = 3",
            ),
            Variant(
                "{y} = {x} * {box}.scale",
                (numeric,),
                same=True,
                module="class {Box}:\n    def __getattr__(self, name):\n        return 2\n"
                "\n\n{box} = {Box}()",
                setup="vars({box}).pop('scale', None)",
                again="setattr({box}, 'scale', 3)",
            ),
            Variant(
                "{y} = {net}({x})",
                (numeric,),
                module="class {Net}(torch.nn.Module):\n    scale = 2\n\n    def forward(self, {p}):\n"
                "        return {p} * self.scale\n\n\n{net} = {Net}()",
                setup="vars({net}).pop('scale', None)",
                again="vars({net})['scale'] = 3",
            ),
        ),
    ),
    Characteristic(
        "parameter or buffer replaced between calls",
        Stage.DYNAMO,
        "A module's parameter or buffer is replaced, written or given another shape before the second call.",
        "Modules are taken as static, so that their tensors are constants unless guarded.",
        "# again(): net.weight = torch.nn.Parameter(torch.full((1,), 3.0))\nreturn net(x)",
        second_call(lambda n: _calls("Parameter", "fill_", "register_buffer", "copy_", "load_state_dict")(n)),
        any_of(
            Variant(
                "{y} = {net}({x})",
                (floating,),
                module="class {Net}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.register_buffer('scale', torch.full((), 2.0))\n\n    def forward(self, {p}):\n"
                "        return {p} * self.scale\n\n\n{net} = {Net}()",
                setup="{net}.scale = torch.full((), 2.0)",
                again="{net}.scale.fill_(3.0)",
            ),
            Variant(
                "{y} = {net}({x})",
                (floating,),
                module="class {Net}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.weight = torch.nn.Parameter(torch.full((), 2.0))\n"
                "\n    def forward(self, {p}):\n"
                "        return {p} * self.weight\n\n\n{net} = {Net}()",
                setup="{net}.weight = torch.nn.Parameter(torch.full((), 2.0))",
                again="{net}.weight = torch.nn.Parameter(torch.full((1,), 3.0))",
            ),
        ),
    ),
    Characteristic(
        "mode changed between calls",
        Stage.DYNAMO,
        "A module goes from training to evaluation, or the gradient mode changes, before the second call.",
        "Both are read at many places without looking like state.",
        "# again(): net.eval()\nreturn net(x)",
        second_call(_calls("eval", "train")),
        any_of(
            Variant(
                "{y} = {net}({x})",
                (numeric,),
                module="class {Net}(torch.nn.Module):\n    def forward(self, {p}):\n"
                "        return {p} * 2 if self.training else {p} * 3\n\n\n{net} = {Net}()",
                setup="{net}.train()",
                again="{net}.eval()",
            ),
            Variant(
                "{y} = {net}({x}.reshape(1, 1, -1))",
                (lambda t: t.dtype == "float32", filled),
                module="class {Net}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.norm = torch.nn.BatchNorm1d(1)\n\n    def forward(self, {p}):\n"
                "        return self.norm(torch.cat([{p}, {p} + 1], -1))\n\n\n{net} = {Net}()",
                setup="{net}.train()\n{net}.norm.reset_running_stats()",
                again="{net}.eval()",
            ),
        ),
    ),
    Characteristic(
        "hook changed between calls",
        Stage.DYNAMO,
        "A hook is put on a module, or taken off it, before the second call.",
        "Hooks are found through dictionaries of the module and of all modules, which few guards cover.",
        "# again(): net.register_forward_hook(lambda module, args, result: result * 3)\nreturn net(x)",
        second_call(_calls("register_forward_hook", "register_forward_pre_hook")),
        any_of(
            Variant(
                "{y} = {net}({x})",
                (numeric,),
                module=PLAIN_NET,
                setup="{net}._forward_hooks.clear()",
                again="{net}.register_forward_hook(lambda module, args, result: result * 3)",
            ),
            Variant(
                "{y} = {net}({x})",
                (numeric,),
                module=PLAIN_NET,
                setup="{net}._forward_pre_hooks.clear()",
                again="{net}.register_forward_pre_hook(lambda module, args: (args[0] * 3,))",
            ),
        ),
    ),
)
