// What a process needs to lock itself into a cell, and the tries that show the lock holds.
#define _GNU_SOURCE
#include "CLinux.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int clinux_spawn_close_from(void *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

void clinux_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }

int clinux_become(unsigned int user, unsigned int group) {
  // Straight system calls: glibc's wrappers change all threads.
  if (syscall(SYS_setgroups, 0, NULL) != 0) return -1;
  if (syscall(SYS_setresgid, group, group, group) != 0) return -1;
  return (int)syscall(SYS_setresuid, user, user, user);
}

int clinux_drop_capabilities(void) {
  // As in linux/capability.h, version 3: a header, and two sets of three words.
  struct {
    uint32_t version;
    int process;
  } header = {.version = 0x20080522, .process = 0};
  uint32_t none[6] = {0};
  return (int)syscall(SYS_capset, &header, none);
}

int clinux_is_sanitized(void) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return 1;
#endif
#endif
  return 0;
}

const char *clinux_library_of_symbol(const char *symbol) {
  void *address = dlsym(RTLD_DEFAULT, symbol);
  Dl_info info;
  if (address == NULL || dladdr(address, &info) == 0) return NULL;
  return info.dli_fname;
}

// As in linux/landlock.h, which older machines do not have in full.
struct ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scope;
};

int clinux_landlock_forbid_all(void) {
#ifdef SYS_landlock_create_ruleset
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
  if (version < 1) return -1;
  // Version 1 knows 13 rights on files; 2, 3 and 5 add one each; 4 TCP, 6 signals and sockets.
  int rights = 13 + (version >= 2) + (version >= 3) + (version >= 5);
  struct ruleset all = {
      .files = (1ULL << rights) - 1,
      .network = version >= 4 ? 3 : 0,
      .scope = version >= 6 ? 3 : 0,
  };
  size_t size = version >= 6   ? sizeof all
                : version >= 4 ? offsetof(struct ruleset, scope)
                               : offsetof(struct ruleset, network);
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, size, 0);
  if (ruleset < 0) return -1;
  int result = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
  close(ruleset);
  return result;
#else
  errno = ENOSYS;
  return -1;
#endif
}

int clinux_try_open(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int clinux_try_socket(void) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int clinux_try_fork(void) {
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  return 0;
}

int clinux_try_execute(const char *path) {
  char *const none[] = {NULL};
  execve(path, none, none);
  return errno;
}

int clinux_try_executable_memory(void) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return errno;
  munmap(page, 4096);
  return 0;
}
