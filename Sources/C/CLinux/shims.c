#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <syslog.h>
#include <unistd.h>

int clinux_openat(int directory, const char *path, int flags, unsigned int mode) {
  return openat(directory, path, flags, mode);
}

int clinux_open_beneath(int directory, const char *path, int flags, unsigned int mode) {
  struct open_how how = {
      .flags = (unsigned int)flags,
      .mode = flags & O_CREAT ? mode : 0,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
  // Kernels before 5.6 lack the call, and some containers refuse it with the same error.
  if (fd == -1 && (errno == ENOSYS || errno == EPERM))
    return clinux_open_beneath_stepwise(directory, path, flags, mode);
  return fd;
}

int clinux_open_beneath_stepwise(int directory, const char *path, int flags, unsigned int mode) {
  if (*path == '/') {
    errno = EXDEV;
    return -1;
  }
  int at = directory;
  for (;;) {
    size_t length = strcspn(path, "/");
    char name[NAME_MAX + 1];
    if (length > NAME_MAX) {
      errno = ENAMETOOLONG;
      break;
    }
    memcpy(name, path, length);
    name[length] = 0;
    if (strcmp(name, "..") == 0) {
      errno = EXDEV;
      break;
    }
    int is_last = path[length] == 0;
    int fd = is_last ? openat(at, name, flags | O_NOFOLLOW, mode)
                     : openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = errno;
    if (at != directory) close(at);
    errno = error;
    if (is_last || fd == -1) return fd;
    at = fd;
    path += length + 1;
  }
  int error = errno;
  if (at != directory) close(at);
  errno = error;
  return -1;
}

int clinux_path_flag(void) { return O_PATH; }

int clinux_direct_flag(void) { return O_DIRECT; }

int clinux_ofd_lock(int fd, short type, int64_t offset, int64_t length, int wait) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = length};
  return fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
}

int clinux_ofd_is_locked(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_OFD_GETLK, &lock) == -1) return -1;
  return lock.l_type != F_UNLCK;
}

int clinux_accept(int listener) { return accept4(listener, 0, 0, SOCK_CLOEXEC); }

int clinux_close_from(unsigned int first) { return close_range(first, ~0u, 0); }

int clinux_thread_id(void) { return gettid(); }

int clinux_own_descriptors(unsigned int first) {
  return unshare(CLONE_FILES) == -1 ? -1 : close_range(first, ~0u, 0);
}

void clinux_log_open(const char *program) { openlog(program, LOG_PID, LOG_DAEMON); }

void clinux_log(int level, const char *message) { syslog(level, "%s", message); }

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

void clinux_set_thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }

// The processors of the process, once a thread was bound to one of them.
static cpu_set_t all_processors;
static pthread_once_t processors_once = PTHREAD_ONCE_INIT;
static _Atomic int is_any_bound = 0;

static void note_processors(void) {
  CPU_ZERO(&all_processors);
  if (sched_getaffinity(0, sizeof all_processors, &all_processors) == 0) is_any_bound = 1;
}

void clinux_bind_to_processor(unsigned int processor) {
  pthread_once(&processors_once, note_processors);
  if (!is_any_bound || processor >= CPU_SETSIZE || !CPU_ISSET(processor, &all_processors)) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  sched_setaffinity(0, sizeof one, &one);
}

void clinux_unbind_from_processor(void) {
  if (is_any_bound) sched_setaffinity(0, sizeof all_processors, &all_processors);
}

void clinux_bound_malloc(void) {
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_ARENA_MAX, 2);
}

void clinux_return_free_memory(void) { malloc_trim(0); }

static _Thread_local uint64_t held_locks;

uint64_t clinux_held_locks(void) { return held_locks; }

void clinux_set_held_locks(uint64_t ranks) { held_locks = ranks; }

int clinux_lock_holder(void *lock) {
  pthread_mutex_t *mutex = lock;
  if (pthread_mutex_trylock(mutex) == 0) {
    pthread_mutex_unlock(mutex);
    return 0;
  }
  return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
}

// A thread takes a place by its number. If all are taken, its wait is not recorded.
static struct {
  _Atomic int thread;
  _Atomic(void *) lock;
} lock_waits[64];

int clinux_lock_wait_count(void) { return sizeof lock_waits / sizeof *lock_waits; }

void clinux_wait_for_lock(void *lock) {
  int place = 0, thread = clinux_thread_id();
  for (int none = 0; place < clinux_lock_wait_count(); place++, none = 0)
    if (atomic_compare_exchange_strong(&lock_waits[place].thread, &none, thread)) break;
  int is_recorded = place < clinux_lock_wait_count();
  if (is_recorded) atomic_store(&lock_waits[place].lock, lock);
  pthread_mutex_lock(lock);
  if (!is_recorded) return;
  atomic_store(&lock_waits[place].lock, NULL);
  atomic_store(&lock_waits[place].thread, 0);
}

int clinux_lock_waiter(void *lock, int place) {
  int thread = atomic_load(&lock_waits[place].thread);
  return atomic_load(&lock_waits[place].lock) == lock ? thread : 0;
}

int clinux_set_attribute(const char *path, const char *name, const void *value, unsigned long size) {
  return lsetxattr(path, name, value, size, 0);
}

long clinux_attribute(const char *path, const char *name, void *value, unsigned long size) {
  return lgetxattr(path, name, value, size);
}

long clinux_attribute_names(const char *path, char *names, unsigned long size) {
  return llistxattr(path, names, size);
}

int clinux_remove_attribute(const char *path, const char *name) { return lremovexattr(path, name); }

int clinux_sync_file_system(int fd) { return syncfs(fd); }

int clinux_rename_exclusive(const char *from, const char *to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

int clinux_rename_exclusive_at(int from_fd, const char *from, int to_fd, const char *to) {
  return renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE);
}

int clinux_device(const char *path, unsigned int *major, unsigned int *minor) {
  struct statx status;
  if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, 0, &status) != 0) return -1;
  *major = status.stx_dev_major;
  *minor = status.stx_dev_minor;
  return 0;
}

int clinux_is_directory(const char *path) {
  struct statx status;
  return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0 && S_ISDIR(status.stx_mode);
}
