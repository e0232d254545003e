#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int clinux_openat(int directory, const char *path, int flags, unsigned int mode) {
  return openat(directory, path, flags, mode);
}

int clinux_ofd_lock(int fd, short type, int64_t offset, int64_t length, int wait) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = length};
  return fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
}

int clinux_prctl(int option, unsigned long a, unsigned long b) {
  return prctl(option, a, b, 0, 0);
}

int clinux_sync_file_range_start(int fd, int64_t offset, int64_t length) {
  return sync_file_range(fd, offset, length, SYNC_FILE_RANGE_WRITE);
}

int clinux_pidfd_open(int pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int clinux_memfd_create(const char *name, unsigned int flags) {
  return memfd_create(name, flags);
}
