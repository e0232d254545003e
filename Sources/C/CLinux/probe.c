// The system calls that a process in the cell tries, one after another, to show that the cell refuses them.
//
// Each call has arguments that make it harmless if nothing stops it. It then succeeds, or fails with another
// errno than the filter's.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int parent = 0;

void clinux_probe_prepare(void) { parent = getppid(); }

static int forks(unsigned long flags) {
  long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) syscall(SYS_exit_group, 0);
  if (child < 0) return -1;
  waitpid((pid_t)child, NULL, 0);
  return 0;
}

static int executable_memory(void) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return -1;
  munmap(page, 4096);
  return 0;
}

static int executable_later(void) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int result = mprotect(page, 4096, PROT_READ | PROT_EXEC);
  int error = errno;
  munmap(page, 4096);
  errno = error;
  return result;
}

static int more_memory(void) {
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  return (int)syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, NULL);
}

static int more_threads(void) {
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  return (int)syscall(SYS_prlimit64, 0, RLIMIT_NPROC, &limit, NULL);
}

static int read_parent(void) {
  char byte;
  struct iovec here = {&byte, 1}, there = {(void *)&parent, 1};
  return (int)syscall(SYS_process_vm_readv, parent, &here, 1, &there, 1, 0);
}

static int write_parent(void) {
  return (int)syscall(SYS_process_vm_writev, parent, NULL, 0, NULL, 0, 0);
}

static int queue_signal(void) {
  siginfo_t info = {0};
  return (int)syscall(SYS_rt_sigqueueinfo, parent, 0, &info);
}

static int queue_thread_signal(void) {
  siginfo_t info = {0};
  return (int)syscall(SYS_rt_tgsigqueueinfo, parent, parent, 0, &info);
}

static int send_message(void) {
  struct msghdr message = {0};
  return (int)syscall(SYS_sendmsg, 3, &message, 0);
}

static int receive_message(void) {
  struct msghdr message = {0};
  return (int)syscall(SYS_recvmsg, 3, &message, MSG_DONTWAIT);
}

static int be_ordinary(void) {
  struct sched_param zero = {0};
  return (int)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &zero);
}

static int parents_clock(void) {
  struct timespec time;
  return (int)syscall(SYS_clock_gettime, (clockid_t)(~(unsigned)parent << 3 | 2), &time);
}

#define CALL(number, ...) ((int)syscall(SYS_##number, __VA_ARGS__))
#define MISSING "/nonexistent/albumfs"

// Name and expression; -1 and errno if the call fails.
#define FORBIDDEN(try)                                                                               \
  /* Files. */                                                                                       \
  try("open", CALL(openat, AT_FDCWD, "/proc/self/status", O_RDONLY))                                 \
  try("open-write", CALL(openat, AT_FDCWD, "/dev/null", O_WRONLY))                                   \
  try("create", CALL(openat, AT_FDCWD, MISSING, O_WRONLY | O_CREAT, 0600))                           \
  try("openat2", CALL(openat2, AT_FDCWD, MISSING, NULL, 0))                                          \
  try("stat", CALL(newfstatat, AT_FDCWD, "/", NULL, 0))                                              \
  try("statx", CALL(statx, AT_FDCWD, "/", 0, 0, NULL))                                               \
  try("access", CALL(faccessat, AT_FDCWD, "/", F_OK))                                                \
  try("readlink", CALL(readlinkat, AT_FDCWD, "/proc/self/exe", NULL, 0))                             \
  try("getdents", CALL(getdents64, 3, NULL, 0))                                                      \
  try("getcwd", CALL(getcwd, NULL, 0))                                                               \
  try("chdir", CALL(chdir, "/"))                                                                     \
  try("chroot", CALL(chroot, MISSING))                                                               \
  try("unlink", CALL(unlinkat, AT_FDCWD, MISSING, 0))                                                \
  try("rename", CALL(renameat2, AT_FDCWD, MISSING, AT_FDCWD, MISSING, 0))                            \
  try("mkdir", CALL(mkdirat, AT_FDCWD, MISSING, 0700))                                               \
  try("link", CALL(linkat, AT_FDCWD, MISSING, AT_FDCWD, MISSING, 0))                                 \
  try("symlink", CALL(symlinkat, "x", AT_FDCWD, MISSING))                                            \
  try("chmod", CALL(fchmodat, AT_FDCWD, MISSING, 0600))                                              \
  try("truncate", CALL(truncate, MISSING, 0))                                                        \
  try("umask", CALL(umask, 077))                                                                     \
  try("mount", CALL(mount, NULL, MISSING, NULL, 0, NULL))                                            \
  try("memfd", CALL(memfd_create, "x", 0))                                                           \
  try("handle", CALL(name_to_handle_at, AT_FDCWD, MISSING, NULL, NULL, 0))                           \
  /* Descriptors. */                                                                                 \
  try("dup", CALL(dup, 3))                                                                           \
  try("fcntl", CALL(fcntl, 3, F_GETFD))                                                              \
  try("ioctl", CALL(ioctl, 0, 0x5413 /* TIOCGWINSZ */, NULL))                                        \
  try("splice", CALL(splice, 3, NULL, 3, NULL, 0, 0))                                                \
  try("eventfd", CALL(eventfd2, 0, 0))                                                               \
  try("epoll", CALL(epoll_create1, 0))                                                               \
  try("timerfd", CALL(timerfd_create, 1, 0))                                                         \
  try("inotify", CALL(inotify_init1, 0))                                                             \
  /* Sockets. */                                                                                     \
  try("socket", CALL(socket, AF_UNIX, SOCK_STREAM, 0))                                               \
  try("socket-network", CALL(socket, AF_INET, SOCK_STREAM, 0))                                       \
  try("socketpair", CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, NULL))                                 \
  try("connect", CALL(connect, 3, NULL, 0))                                                          \
  try("bind", CALL(bind, 3, NULL, 0))                                                                \
  try("accept", CALL(accept4, 3, NULL, NULL, SOCK_NONBLOCK))                                         \
  try("sendmsg", send_message())                                                                     \
  try("recvmsg", receive_message())                                                                  \
  /* Processes and programs. */                                                                      \
  try("fork", forks(0))                                                                              \
  try("vfork", forks(CLONE_VFORK))                                                                   \
  try("fork-namespace", forks(CLONE_NEWUSER))                                                        \
  try("clone3", CALL(clone3, NULL, 0))                                                               \
  try("execve", CALL(execve, MISSING, NULL, NULL))                                                   \
  try("execveat", CALL(execveat, AT_FDCWD, MISSING, NULL, NULL, 0))                                  \
  try("unshare", CALL(unshare, 0))                                                                   \
  try("setns", CALL(setns, 3, 0))                                                                    \
  try("setsid", CALL(setsid, 0))                                                                     \
  /* Other processes; the null signal only checks the permission. */                                 \
  try("kill", CALL(kill, parent, 0))                                                                 \
  try("kill-all", CALL(kill, -1, 0))                                                                 \
  try("kill-self", CALL(kill, getpid(), 0))                                                          \
  try("tkill", CALL(tkill, parent, 0))                                                               \
  try("tgkill", CALL(tgkill, parent, parent, 0))                                                     \
  try("tgkill-any", CALL(tgkill, -1, parent, 0))                                                     \
  try("sigqueue", queue_signal())                                                                    \
  try("sigqueue-thread", queue_thread_signal())                                                      \
  try("pidfd", CALL(pidfd_open, parent, 0))                                                          \
  try("pidfd-signal", CALL(pidfd_send_signal, 3, 0, NULL, 0))                                        \
  try("pidfd-take", CALL(pidfd_getfd, 3, 0, 0))                                                      \
  try("ptrace", CALL(ptrace, PTRACE_PEEKDATA, parent, NULL, NULL))                                   \
  try("read-memory", read_parent())                                                                  \
  try("write-memory", write_parent())                                                                \
  try("parents-limits", CALL(prlimit64, parent, RLIMIT_CORE, NULL, NULL))                            \
  try("parents-clock", parents_clock())                                                              \
  try("kcmp", CALL(kcmp, parent, parent, 0, 0, 0))                                                   \
  try("setpriority", CALL(setpriority, PRIO_PROCESS, 0, 0))                                          \
  try("setscheduler", be_ordinary())                                                                 \
  try("setaffinity", CALL(sched_setaffinity, 0, 0, NULL))                                            \
  try("ioprio", CALL(ioprio_set, 1, 0, 2 << 13 | 4))                                                 \
  /* Rights that it has dropped. */                                                                  \
  try("setuid", CALL(setresuid, -1, -1, -1))                                                         \
  try("setgid", CALL(setresgid, -1, -1, -1))                                                         \
  try("capset", CALL(capset, NULL, NULL))                                                            \
  try("more-memory", more_memory())                                                                  \
  try("more-threads", more_threads())                                                                \
  try("dumpable", CALL(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0))                                          \
  try("outlive", CALL(prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0))                                          \
  try("seccomp", CALL(seccomp, 2 /* GET_ACTION_AVAIL */, 0, NULL))                                   \
  try("personality", CALL(personality, 0xffffffff))                                                  \
  try("keyctl", CALL(keyctl, 0, 0, 0))                                                               \
  /* Memory. */                                                                                      \
  try("executable-memory", executable_memory())                                                      \
  try("executable-later", executable_later())                                                        \
  try("mlock", CALL(mlockall, 0))                                                                    \
  try("shmget", CALL(shmget, 0, 0, 0))                                                               \
  try("userfaultfd", CALL(userfaultfd, -1))                                                          \
  /* The parts of the kernel with most holes. */                                                     \
  try("bpf", CALL(bpf, -1, NULL, 0))                                                                 \
  try("perf", CALL(perf_event_open, NULL, 0, 0, -1, 0))                                              \
  try("io_uring", CALL(io_uring_setup, 0, NULL))                                                     \
  try("io_setup", CALL(io_setup, 0, NULL))                                                           \
  try("init_module", CALL(finit_module, -1, "", 0))                                                  \
  try("syslog", CALL(syslog, 10, NULL, 0))                                                           \
  try("uname", CALL(uname, NULL))                                                                    \
  try("sysinfo", CALL(sysinfo, NULL))                                                                \
  try("msgget", CALL(msgget, 0, 0))                                                                  \
  try("mq_open", CALL(mq_open, MISSING, 0, 0, NULL))                                                 \
  try("settime", CALL(clock_settime, 0, NULL))

#define NAME(name, call) name,
static const char *const names[] = {FORBIDDEN(NAME)};
enum { count = sizeof names / sizeof *names };

int clinux_probe_count(void) { return count; }

const char *clinux_probe_name(int index) {
  return index >= 0 && index < count ? names[index] : NULL;
}

int clinux_probe(int index) {
  int at = 0;
  errno = 0;
#define TRY(name, call) \
  if (at++ == index) return (call) == -1 ? errno : 0;
  FORBIDDEN(TRY)
  return ENOSYS;
}

int clinux_probe_own_signal(void) {
  return syscall(SYS_tgkill, getpid(), gettid(), 0) == -1 ? errno : 0;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *unused) {
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  return unused;
}

int clinux_probe_threads(int limit, unsigned seconds) {
  pthread_t *threads = calloc((size_t)limit, sizeof *threads);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  pthread_mutex_lock(&gate);
  int made = 0;
  while (made < limit && pthread_create(&threads[made], &small, wait_at_gate, NULL) == 0) made++;
  sleep(seconds);
  pthread_mutex_unlock(&gate);
  for (int at = 0; at < made; at++) pthread_join(threads[at], NULL);
  pthread_attr_destroy(&small);
  free(threads);
  return made;
}

void clinux_call_as_32_bit(void) {
#if defined(__x86_64__)
  // getpid of i386.
  long number = 20;
  __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
#else
  raise(SIGSYS);
#endif
}
