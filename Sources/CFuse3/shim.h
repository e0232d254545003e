#pragma once
#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <unistd.h>

// Reads a request like libfuse. In C, because libfuse ends a thread that waits here by cancelling it, which Swift
// code does not support. `context` is unused.
static inline ssize_t cfuse3_read(int device, void *buffer, size_t size, void *context) {
  (void)context;
  return read(device, buffer, size);
}
