// Memory without old data: every block from malloc and its like is zero, for all libraries of the program that
// contains this target.
//
// Decoders leave areas of a damaged picture as malloc returned them. In a process that has decoded other
// pictures, these areas would show those.
#pragma once
#include <stddef.h>

// Enables it. Until then the functions are the C library's, so that other programs that link this (the tests)
// are not affected. Call it while there is one thread.
void cfreshmemory_begin(void);

// True if blocks are cleared: not before `begin`, and not with a sanitizer, which has its own malloc.
int cfreshmemory_is_on(void);

// Overwrites data of earlier calls on the stack of the calling thread, below the caller.
void cfreshmemory_clear_stack(void);

// Allocates and frees blocks in every way there is, and counts the bytes of earlier ones that it sees.
size_t cfreshmemory_try(void);
