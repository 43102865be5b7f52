#!/usr/bin/env python3
"""What the trace hooks cost where they record nothing: compiles kernels with their hooks and
without them, and compares registers and instructions kernel by kernel.

    tests/bench/trace_cost.py [--arch sm_90] [--against COMMIT | --hooks] [FILE ...]

Without --against, the other side is this tree with every call of an observer taken out (the empty
object stays, and is passed on); with it, the files as they are in that commit. What is compared is
the machine code itself, byte by byte, 16 bytes an instruction. Exit status 1 when any kernel
differs. Needs nvcc and c++filt, no GPU; --hooks takes the calls out, checks that none is left, and
compiles nothing.
"""

import argparse
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["kernels/flash1/flash1_forward.cuh", "kernels/flash1/flash1_backward.cuh",
         "kernels/flash2/flash2_forward.cuh", "kernels/flash2/flash2_backward.cuh",
         "kernels/flash1/flash1_forward_fp32.cuh", "kernels/flash2/flash2_forward_fp32.cuh",
         "kernels/flash2/flash2_backward_fp32.cuh", "kernels/split_kv/split_kv_partial.cuh",
         "kernels/flash1/flash1_backward_hopper.cuh", "kernels/flash2/flash2_backward_hopper.cuh"]
# Of a header whose instances are compiled when they are asked for, these
INSTANCES = {
    "kernels/flash1/flash1_forward.cuh": [
        *(f"void flash1_forward<device::Bf16, device::Bf16, {constants}>(const Flash1Parameters)"
          for constants in ("64, 128, 256", "128, 128, 256", "16, 16, 16",
                            "96, 128, 128, device::Columns::first",
                            "192, 128, 64, device::Columns::first",
                            "256, 64, 32, device::Columns::first")),
        "void flash1_forward<device::Bf16, float, 128, 128, 256>(const Flash1Parameters)",
        *(f"void flash1_forward<device::Bf16, device::Bf16, {constants}, device::Columns::all, "
          "device::NoTrace, ScoredFlash1>(const ScoredFlash1Parameters)"
          for constants in ("64, 128, 256", "128, 128, 128"))],
    "kernels/flash1/flash1_backward.cuh": [
        *(f"void flash1_backward<device::Bf16, {constants}>(const Flash1BackwardParameters)"
          for constants in ("64, 64, 128, 8", "128, 64, 128, 8", "64, 32, 32, 2",
                            "96, 64, 64, 8, device::Columns::first",
                            "256, 32, 64, 8, device::Columns::first")),
        *(f"void flash1_backward<device::Bf16, {constants}, device::Columns::all, "
          "device::NoTrace, ScoredFlash1>(const Flash1BackwardParameters)"
          for constants in ("64, 64, 128, 8", "128, 64, 128, 8"))],
    "kernels/flash1/flash1_backward_hopper.cuh": [
        "void flash1_backward_hopper<device::Bf16, 128, 64, 128>(const Flash1HopperParameters)"],
    "kernels/flash1/flash1_forward_fp32.cuh": [
        f"void flash1_forward_fp32<{constants}>(const Flash1Parameters)"
        for constants in ("64, 64, 64", "128, 64, 64", "256, 64, 64")],
    "kernels/flash2/flash2_forward.cuh": [
        f"void flash2_forward<device::Bf16, {constants}>(const ForwardParameters)"
        for constants in ("64, 128, 128, 4", "128, 128, 64, 4", "256, 128, 64, 8",
                          "96, 128, 64, 4, device::Columns::first",
                          "64, 128, 128, 4, device::Columns::all, device::Visits::listed")],
    "kernels/flash2/flash2_backward.cuh": [
        f"void flash2_backward<device::Bf16, {constants}>(const BackwardParameters)"
        for constants in ("64, 128, 128, 8", "128, 64, 128, 8", "64, 32, 32, 2",
                          "256, 32, 64, 8, device::Columns::first",
                          "64, 128, 128, 8, device::Columns::all, device::Visits::listed")],
    "kernels/flash2/flash2_backward_hopper.cuh": [
        f"void flash2_backward_hopper<device::Bf16, 128, 64, 128{visits}>"
        "(const Flash2HopperParameters)" for visits in ("", ", device::Visits::listed")],
    "kernels/flash2/flash2_forward_fp32.cuh": [
        f"void flash2_forward_fp32<{constants}>(const ForwardParameters)"
        for constants in ("64, 64, 64", "256, 64, 64")],
    "kernels/flash2/flash2_backward_fp32.cuh": [
        f"void flash2_backward_fp32<{constants}>(const BackwardParameters)"
        for constants in ("64, 64, 64", "192, 64, 64")],
    "kernels/split_kv/split_kv_partial.cuh": [
        f"void split_kv_partial<device::Bf16, {constants}>(const SplitKvParameters)"
        for constants in ("64, 128, 4, 4", "128, 64, 4, 4", "96, 64, 4, 4, device::Columns::first",
                          "256, 64, 4, 3, device::Columns::first")],
}
# A hook is a call of an observer
HOOK = re.compile(r"(?<![\w.])trace\.\w+\(")


def without_hooks(text):
    """The source without the calls of its observer, and their number; `;` stays of a statement."""
    parts, begin, count = [], 0, 0
    while hook := HOOK.search(text, begin):
        parts.append(text[begin:hook.start()])
        depth, begin = 1, hook.end()
        while depth > 0:
            depth += {"(": 1, ")": -1}.get(text[begin], 0)
            begin += 1
        if not re.match(r"\s*;", text[begin:]):
            raise SystemExit(f"a hook is not a statement: {text[hook.start():begin]}")
        count += 1
    return "".join(parts) + text[begin:], count


def other_tree(folder, commit):
    """The sources to compare with; how many hooks were taken out."""
    if commit:
        archive = subprocess.run(["git", "-C", ROOT, "archive", commit, "kernels", "reference"],
                                 check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        return 0
    subprocess.run(["cp", "-r", ROOT / "kernels", ROOT / "reference", folder], check=True)
    removed = 0
    for path in sorted(pathlib.Path(folder, "kernels").rglob("*.cu*")):
        text = path.read_text()
        if path.name == "trace.cuh" or not re.search(r"\bTrace&? trace\b", text):
            continue
        text, count = without_hooks(text)
        if count == 0 or re.search(r"(?<![\w./])trace\s*(?:\.|->)", text):
            raise SystemExit(f"{path.relative_to(folder)}: {count} hooks taken out, some are left")
        path.write_text(text)
        print(f"{path.relative_to(folder)}: {count} hooks")
        removed += count
    if removed == 0:
        raise SystemExit("no hook was found")
    return removed


def compiler():
    """nvcc on the PATH, or where the toolkit installs it."""
    found = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if found is None:
        raise SystemExit("nvcc is neither on the PATH nor in /usr/local/cuda/bin")
    return found


def code_sections(cubin):
    """The machine code of each kernel in an ELF file of 64 bits, by mangled name."""
    data = cubin.read_bytes()
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + index * size) for index in range(count)]
    names = data[headers[names_index][4]:][:headers[names_index][5]]
    found = {}
    for name_at, _, _, _, begin, length in headers:
        name = names[name_at:names.index(b"\0", name_at)].decode()
        if name.startswith(".text."):
            found[name[len(".text."):]] = data[begin:begin + length]
    return found


def translation_unit(tree, file, folder):
    """The file itself, or one that instantiates INSTANCES of it."""
    if file not in INSTANCES:
        return pathlib.Path(tree, file)
    unit = pathlib.Path(folder, "instances.cu")
    lines = [f"template __global__ {instance};" for instance in INSTANCES[file]]
    unit.write_text("\n".join([f'#include "{file}"', "namespace attnscope::kernels {", *lines, "}"]))
    return unit


def functions(tree, file, arch, folder):
    """Registers and machine code of a file's plain kernels, by their names without the observer."""
    cubin = pathlib.Path(folder, "kernel.cubin")
    if "hopper" in file:  # its own instructions need the architecture's own target
        arch = "sm_90a"
    report = subprocess.run(
        [compiler(), "-std=c++20", "-O3", "-DNDEBUG", f"-arch={arch}", "-cubin", "-I", tree,
         "--expt-relaxed-constexpr", "-Xptxas=-v", "-o", cubin,
         translation_unit(tree, file, folder)],
        check=True, stderr=subprocess.PIPE, text=True).stderr
    registers = dict(re.findall(r"Compiling entry function '(\S+)'.*?Used (\d+) registers", report,
                                re.S))
    found = {}
    for mangled, code in code_sections(cubin).items():
        name = subprocess.run(["c++filt", mangled], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()
        if "device::BlockTrace" in name:
            continue
        name = re.sub(r", attnscope::kernels::device::NoTrace", "", name)
        name = re.sub(r">\(.*", ">", name.removeprefix("void ").replace("attnscope::kernels::", ""))
        found[name] = (registers[mangled], code)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="sm_90")
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--against", metavar="COMMIT")
    side.add_argument("--hooks", action="store_true", help="compile nothing")
    parser.add_argument("files", nargs="*", default=FILES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        removed = other_tree(folder, given.against)
        if given.hooks:
            return 0
        print(f"with the hooks against {given.against or f'{removed} hooks taken out'}, {given.arch}")
        print(f"{'kernel':<64} {'registers':>11} {'instructions':>15}")
        differing = 0
        for file in given.files:
            ours = functions(ROOT, file, given.arch, folder)
            theirs = functions(folder, file, given.arch, folder)
            for name in sorted(ours):
                registers, code = ours[name]
                other_registers, other_code = theirs.get(name, ("-", b""))
                same = (registers, code) == (other_registers, other_code) and len(code) > 0
                differing += not same
                print(f"{name:<64} {other_registers:>5} {registers:>5} {len(other_code) // 16:>8}"
                      f" {len(code) // 16:>6}  {'identical' if same else 'DIFFERENT'}")
            if set(ours) != set(theirs):
                print(f"{file}: other kernels on the other side: {set(theirs) ^ set(ours)}")
                differing += 1
    print("every kernel is identical" if differing == 0 else f"{differing} differ")
    return differing != 0


if __name__ == "__main__":
    sys.exit(main())
