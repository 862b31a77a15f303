// Functions that are the same in CUDA 12 and 13: each is a jump to the newer library's, whatever its parameters.
// They are weak, so that a function which another file defines takes the place of its jump.

.macro jump older, newer
  .weak \older
  .type \older, @function
\older:
  mov STANDIN_TABLE@GOTPCREL(%rip), %r11
  jmp *8*.Lslot_\newer(%r11)
  .size \older, . - \older
.endm

.macro same function, slot
  .set .Lslot_\function, \slot
  jump \function, \function
.endm

.text
#define EXPORTED(function) same function, __COUNTER__
#include "exported.def"
#define RENAMED(older, newer) jump older, newer
#include "renamed.def"

.section .note.GNU-stack, "", @progbits
