#pragma once
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

// libfuse 3.14 does not know FUSE_TMPFILE, open(2) with O_TMPFILE. Its message is that of FUSE_CREATE, whose
// flags then contain O_TMPFILE, as those of no other FUSE_CREATE do. So it becomes one. Not needed with
// libfuse 3.17 and later.
static inline void cfuse3_translate(void *request, ssize_t size) {
  struct { uint32_t length, opcode; } *header = request;
  const uint32_t create = 35, tmpfile = 51;
  if (size >= (ssize_t)sizeof *header && header->opcode == tmpfile) header->opcode = create;
}

// The number of bytes that a FUSE_READ or FUSE_WRITE asks for; 0 for any other request. Both have the size at
// the same place.
static inline uint32_t cfuse3_data_size(const void *request, size_t size) {
  const struct {
    uint32_t length, opcode;
    uint64_t rest[4], handle, offset;
    uint32_t size;
  } *data = request;
  const uint32_t read = 15, write = 16;
  if (size < 60 || (data->opcode != read && data->opcode != write)) return 0;
  return data->size;
}

// struct fuse_out_header of linux/fuse.h, of a message that is no reply.
typedef struct { uint32_t length; int32_t code; uint64_t request; } cfuse3_message;

// FUSE_NOTIFY_RETRIEVE: asks the kernel for a part of a file from its page cache. The kernel puts it into a
// request FUSE_NOTIFY_REPLY, whose number is `unique`.
typedef struct {
  cfuse3_message message;
  uint64_t unique, inode, offset;
  uint32_t size, padding;
} cfuse3_retrieval;
enum { CFUSE3_RETRIEVE = 5, CFUSE3_RETRIEVED = 41 };

// The operation that a request asks for.
static inline uint32_t cfuse3_operation(const void *request) { return ((const uint32_t *)request)[1]; }

// Reads a request like libfuse. In C, because libfuse ends a thread that waits here by cancelling it, which Swift
// code does not support. `context` is unused.
static inline ssize_t cfuse3_read(int device, void *buffer, size_t size, void *context) {
  (void)context;
  ssize_t result = read(device, buffer, size);
  cfuse3_translate(buffer, result);
  return result;
}

// The driver's part of the next function. `driver` is what libfuse has for the session.
void albumfs_request_came(void *driver, const void *request, size_t size);

// The same for a mount that somebody watches. The driver is called while libfuse cannot cancel the thread.
static inline ssize_t cfuse3_read_traced(int device, void *buffer, size_t size, void *driver) {
  ssize_t result = cfuse3_read(device, buffer, size, driver);
  if (result <= 0) return result;
  int error = errno, state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  albumfs_request_came(driver, buffer, result);
  pthread_setcancelstate(state, &state);
  errno = error;
  return result;
}
