// The calls with which a process confines itself to a cell. probe.c tries whether the cell holds.
#define _GNU_SOURCE
#include "CLinux.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

short clinux_spawn_session_flag(void) { return POSIX_SPAWN_SETSID; }

int clinux_spawn_close_from(void *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

void clinux_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }

int clinux_become(unsigned int user, unsigned int group) {
  // Raw system calls, because glibc's wrappers change all threads.
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

// As in linux/landlock.h, which is incomplete on older machines.
struct ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scope;
};

#ifdef SYS_landlock_create_ruleset
// A set of rules that denies all files, and ports unless `keeps_network`.
static int new_ruleset(int keeps_network) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
  if (version < 1) return -1;
  // Version 1 knows 13 rights on files; 2, 3 and 5 add one each; 4 TCP, 6 signals and sockets.
  int rights = 13 + (version >= 2) + (version >= 3) + (version >= 5);
  struct ruleset all = {
      .files = (1ULL << rights) - 1,
      .network = version >= 4 && !keeps_network ? 3 : 0,
      .scope = version >= 6 ? 3 : 0,
  };
  size_t size = version >= 6   ? sizeof all
                : version >= 4 ? offsetof(struct ruleset, scope)
                               : offsetof(struct ruleset, network);
  return (int)syscall(SYS_landlock_create_ruleset, &all, size, 0);
}

static void allow_reading(int ruleset, const char *directory) {
  int file = open(directory, O_PATH | O_CLOEXEC);
  if (file < 0) return;
  // As in linux/landlock.h: rights (2 to read files, 3 to read directories), and where.
  struct {
    uint64_t rights;
    int32_t parent;
  } __attribute__((packed)) rule = {.rights = 1 << 2 | 1 << 3, .parent = file};
  syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0);
  close(file);
}
#endif

// The directories are separated by colons; NULL for none.
static int restrict_self(int keeps_network, const char *directories) {
#ifdef SYS_landlock_create_ruleset
  int ruleset = new_ruleset(keeps_network);
  if (ruleset < 0) return -1;
  char *names = directories == NULL ? NULL : strdup(directories), *rest = names, *name;
  while (names != NULL && (name = strsep(&rest, ":")) != NULL) allow_reading(ruleset, name);
  free(names);
  int result = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
  close(ruleset);
  return result;
#else
  errno = ENOSYS;
  return -1;
#endif
}

int clinux_landlock_forbid_all(void) { return restrict_self(0, NULL); }

int clinux_landlock_allow_reading(const char *directories) { return restrict_self(1, directories); }

// The kernel shares processors between sessions first (sched_autogroup), and priorities count only within one:
// without this, an idle process in a session of its own takes as much as all that its user runs in a terminal.
static void set_session_nice(const char *nice) {
  for (int attempt = 0; attempt < 5; attempt++) {
    int file = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t written = write(file, nice, strlen(nice));
    int error = errno;
    close(file);
    // The kernel lets ordinary users change one session each 100 ms.
    if (written >= 0 || error != EAGAIN) return;
    usleep(100000);
  }
}

int clinux_yield_to_all(void) {
  int result = 0;
  set_session_nice("19");
  struct sched_param zero = {0};
  if (sched_setscheduler(0, SCHED_IDLE, &zero) != 0) result = -1;
  // For this process; the third class uses the disk only when no other process does.
  if (syscall(SYS_ioprio_set, 1, 0, 3 << 13) != 0) result = -1;
  return result;
}

int clinux_take_small_share(void) {
  int result = 0;
  set_session_nice("10");
  struct sched_param zero = {0};
  if (sched_setscheduler(0, SCHED_BATCH, &zero) != 0) result = -1;
  // Where the kernel has no sessions' shares, the process's own priority counts.
  if (setpriority(PRIO_PROCESS, 0, 10) != 0) result = -1;
  // The last level of the class of ordinary processes.
  if (syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 7) != 0) result = -1;
  return result;
}

int clinux_yield_memory(void) {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  int result = write(file, "1000", 4) == 4 ? 0 : -1;
  close(file);
  return result;
}

int clinux_own_user_namespace(void) {
  struct utsname kernel;
  int major = 0, minor = 0;
  // Older kernels count a user's processes in all namespaces together.
  if (uname(&kernel) != 0 || sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return -1;
  if (major < 5 || (major == 5 && minor < 14)) return -1;
  return unshare(CLONE_NEWUSER);
}
