#pragma once
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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
  // The number by which an answer names its request.
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

// IORING_SETUP_NO_MMAP of Linux 6.5: the ring lies in memory of the program.
#define CURING_OWN_MEMORY (1U << 14)
// One page for the rings of submissions and completions, one for the submissions themselves.
#define CURING_PAGE 4096

// Makes a ring for one entry and one poll. The calling thread alone may use it, and its end closes the ring.
//
// Neither a descriptor nor a mapping of the process may keep the ring open: if the process is killed while
// another of its threads waits in the kernel for a request, the rings must end all the same, because the
// kernel can end no request that it has assigned to the ring of a dead thread, not even by an abort. So the
// ring lies in memory of the program, and only the thread itself refers to it.
static inline int curing_open(struct io_uring *ring) {
  char *memory = mmap(0, 2 * CURING_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -errno;
  struct io_uring_params parameters = {0};
  parameters.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL |
                     IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | CURING_OWN_MEMORY;
  parameters.cq_entries = 4;
  // `user_addr` in newer headers.
  parameters.cq_off.resv2 = (uint64_t)(uintptr_t)memory;
  parameters.sq_off.resv2 = (uint64_t)(uintptr_t)(memory + CURING_PAGE);
  int descriptor = (int)syscall(__NR_io_uring_setup, 2, &parameters);
  if (descriptor < 0) {
    int error = errno;
    munmap(memory, 2 * CURING_PAGE);
    return -error;
  }
  __builtin_memset(ring, 0, sizeof *ring);
  ring->sq.khead = (unsigned *)(memory + parameters.sq_off.head);
  ring->sq.ktail = (unsigned *)(memory + parameters.sq_off.tail);
  ring->sq.kring_mask = (unsigned *)(memory + parameters.sq_off.ring_mask);
  ring->sq.kring_entries = (unsigned *)(memory + parameters.sq_off.ring_entries);
  ring->sq.kflags = (unsigned *)(memory + parameters.sq_off.flags);
  ring->sq.kdropped = (unsigned *)(memory + parameters.sq_off.dropped);
  ring->sq.array = (unsigned *)(memory + parameters.sq_off.array);
  ring->sq.sqes = (struct io_uring_sqe *)(memory + CURING_PAGE);
  ring->sq.ring_ptr = memory;
  ring->sq.ring_mask = *ring->sq.kring_mask;
  ring->sq.ring_entries = *ring->sq.kring_entries;
  for (unsigned place = 0; place < ring->sq.ring_entries; place++) ring->sq.array[place] = place;
  ring->cq.khead = (unsigned *)(memory + parameters.cq_off.head);
  ring->cq.ktail = (unsigned *)(memory + parameters.cq_off.tail);
  ring->cq.kring_mask = (unsigned *)(memory + parameters.cq_off.ring_mask);
  ring->cq.kring_entries = (unsigned *)(memory + parameters.cq_off.ring_entries);
  ring->cq.kflags = (unsigned *)(memory + parameters.cq_off.flags);
  ring->cq.koverflow = (unsigned *)(memory + parameters.cq_off.overflow);
  ring->cq.cqes = (struct io_uring_cqe *)(memory + parameters.cq_off.cqes);
  ring->cq.ring_mask = *ring->cq.kring_mask;
  ring->cq.ring_entries = *ring->cq.kring_entries;
  ring->flags = parameters.flags;
  ring->features = parameters.features;
  ring->ring_fd = ring->enter_ring_fd = descriptor;
  int registered = io_uring_register_ring_fd(ring);
  close(descriptor);
  ring->ring_fd = -1;
  if (registered == 1) return 0;
  munmap(memory, 2 * CURING_PAGE);
  return registered < 0 ? registered : -EINVAL;
}

// The kernel keeps the pages until the thread ends, and with it the ring.
static inline void curing_close(struct io_uring *ring) { munmap(ring->sq.ring_ptr, 2 * CURING_PAGE); }

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
