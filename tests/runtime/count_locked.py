"""Run by gdb: single-steps one call of one_call and counts its locked instructions.

gdb -q -batch -ex 'py LIMIT = 9' -x count_locked.py PROGRAM
An instruction is locked if it has the prefix, or is an xchg with memory, which locks by itself.
Prints the count and exits 0 if it is at most LIMIT, else 1.
"""
import gdb


def is_locked(text):
    words = text.split()
    return words[0] == "lock" or (words[0].startswith("xchg") and "(" in text)


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("break one_call")
gdb.execute("run", to_string=True)
gdb.execute("continue", to_string=True)  # the second call
caller = gdb.selected_frame().older().pc()
steps, locked = 0, []
while gdb.selected_frame().pc() != caller and steps < 100000:
    frame = gdb.selected_frame()
    text = frame.architecture().disassemble(frame.pc())[0]["asm"]
    if is_locked(text):
        locked.append("%s in %s" % (text, frame.name()))
    gdb.execute("stepi", to_string=True)
    steps += 1
for line in locked:
    print("locked:", line)
print("%d locked instructions among %d, at most %d are allowed" % (len(locked), steps, LIMIT))
passed = 0 < steps < 100000 and 0 < len(locked) <= LIMIT
gdb.execute("kill")
gdb.execute("quit %d" % (0 if passed else 1))
