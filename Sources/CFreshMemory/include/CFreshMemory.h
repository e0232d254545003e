// Memory that carries nothing over: every block that malloc and its like hand out is zero, whatever was
// in it before, for all libraries of the program that this target is part of.
//
// Decoders leave areas of a damaged picture as they got them from malloc. In a process that decoded
// other pictures before, that would be theirs.
#pragma once
#include <stddef.h>

// From here on. Before it the functions are the C library's, so that other programs which happen to link
// this (the tests) notice nothing. While there is one thread.
void cfreshmemory_begin(void);

// Whether blocks are cleared: not before `begin`, and not with a sanitizer, which brings its own malloc.
int cfreshmemory_is_on(void);

// Overwrites what earlier calls have left on the stack of the calling thread below the caller.
void cfreshmemory_clear_stack(void);

// Takes and gives back blocks in every way there is, and counts the bytes of earlier ones that it sees.
size_t cfreshmemory_try(void);
