#pragma once
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>

// FUSE over io_uring, as include/uapi/linux/fuse.h of Linux 6.14 defines it. The headers of Debian 12 are older.

// FUSE_IO_URING_CMD_REGISTER: gives the kernel a first entry; it comes back with a request.
#define CURING_REGISTER 1
// FUSE_IO_URING_CMD_COMMIT_AND_FETCH: answers the entry's request; it comes back with the next one.
#define CURING_COMMIT 2

// struct fuse_uring_req_header: what an entry has besides its payload.
struct curing_header {
  // struct fuse_in_header, and in an answer struct fuse_out_header.
  char in_out[128];
  // The arguments of the operation's own structure.
  char operation[128];
  uint64_t flags;
  // What the answer must name.
  uint64_t commit_id;
  uint32_t payload_size;
  uint32_t padding;
  uint64_t reserved;
};

// struct fuse_uring_cmd_req: the 80 bytes of a submission that belong to its command.
struct curing_command {
  uint64_t flags;
  uint64_t commit_id;
  uint16_t queue;
  uint8_t padding[6];
};

// What a completion belongs to.
enum { CURING_ENTRY = 1, CURING_STOP = 2 };

// Makes a ring for one entry and one poll. The calling thread alone may use it, until it closes it.
static inline int curing_open(struct io_uring *ring) {
  struct io_uring_params parameters = {0};
  parameters.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL |
                     IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  parameters.cq_entries = 4;
  return io_uring_queue_init_params(2, ring, &parameters);
}

static inline void curing_close(struct io_uring *ring) { io_uring_queue_exit(ring); }

// Prepares a completion for the time when the descriptor can be read.
static inline void curing_watch(struct io_uring *ring, int descriptor) {
  struct io_uring_sqe *submission = io_uring_get_sqe(ring);
  io_uring_prep_poll_add(submission, descriptor, POLLIN);
  io_uring_sqe_set_data64(submission, CURING_STOP);
}

static inline struct io_uring_sqe *curing_prepare(
    struct io_uring *ring, int device, uint32_t operation, unsigned queue, uint64_t commit_id) {
  struct io_uring_sqe *submission = io_uring_get_sqe(ring);
  io_uring_prep_rw(IORING_OP_URING_CMD, submission, device, 0, 0, 0);
  submission->cmd_op = operation;
  io_uring_sqe_set_data64(submission, CURING_ENTRY);
  struct curing_command *command = (struct curing_command *)submission->cmd;
  __builtin_memset(command, 0, 80);
  command->commit_id = commit_id;
  command->queue = (uint16_t)queue;
  return submission;
}

// Prepares the answer to an entry's request. It goes out with the next wait.
static inline void curing_commit(struct io_uring *ring, int device, unsigned queue, uint64_t commit_id) {
  curing_prepare(ring, device, CURING_COMMIT, queue, commit_id);
}

// Both mean that the call may succeed the next time.
static inline int curing_is_passing(int result) { return result == -EINTR || result == -EAGAIN; }

// Gives the kernel an entry for a queue. Returns 0, or the negative errno with which the kernel refuses it.
static inline int curing_register(
    struct io_uring *ring, int device, unsigned queue, void *header, void *payload, size_t size) {
  // The kernel reads them during the submission.
  struct iovec parts[2] = {{header, sizeof(struct curing_header)}, {payload, size}};
  struct io_uring_sqe *submission = curing_prepare(ring, device, CURING_REGISTER, queue, 0);
  submission->addr = (uint64_t)(uintptr_t)parts;
  submission->len = 2;
  int result;
  do { result = io_uring_submit(ring); } while (curing_is_passing(result));
  if (result < 0) return result;
  // A refusal is there at once. A request cannot be yet: it needs a wait of this thread.
  struct io_uring_cqe *completion;
  if (io_uring_peek_cqe(ring, &completion) != 0 || completion->user_data != CURING_ENTRY) return 0;
  return completion->res < 0 ? completion->res : 0;
}

// Submits what is prepared and waits for a completion. Returns what it belongs to, or a negative errno of the
// ring itself; `result` is the completion's own.
static inline int curing_wait(struct io_uring *ring, int *result) {
  struct io_uring_cqe *completion;
  while (1) {
    int submitted = io_uring_submit_and_wait(ring, 1);
    if (submitted < 0 && !curing_is_passing(submitted)) return submitted;
    if (io_uring_peek_cqe(ring, &completion) == 0) break;
  }
  int token = (int)completion->user_data;
  *result = completion->res;
  io_uring_cqe_seen(ring, completion);
  return token;
}

// eventfd(2), close-on-exec. Once `curing_raise` was called it can be read for ever, since nobody reads it.
static inline int curing_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static inline void curing_raise(int event) { eventfd_write(event, 1); }
