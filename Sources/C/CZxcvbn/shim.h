#pragma once
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zxcvbn.h>

enum { albumfs_zxcvbn_limit = 128 };

// The estimated strength of a password in bits, at most 250; -1 if the estimate failed.
//
// zxcvbn(3) leaves copies of the password in memory that it allocates and frees. So it runs in a child process that
// exits at once: the kernel clears its memory. The exit code is the result. The child reads only the first 128
// bytes, because its time grows faster than their number. An alarm ends it after ten seconds, so that the parent
// never waits longer.
static inline int albumfs_password_bits(const void *password, size_t count) {
  pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    char text[albumfs_zxcvbn_limit + 1];
    sigset_t alarms;
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarms, 0);
    alarm(10);
    if (count > albumfs_zxcvbn_limit) count = albumfs_zxcvbn_limit;
    memcpy(text, password, count);
    text[count] = 0;
    double bits = ZxcvbnMatch(text, 0, 0);
    _exit(bits >= 250 ? 250 : bits > 0 ? (int)bits : 0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) && WEXITSTATUS(status) <= 250 ? WEXITSTATUS(status) : -1;
}
