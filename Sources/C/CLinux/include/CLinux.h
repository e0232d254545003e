// What Glibc's Swift module hides: variadic calls, and what is declared only under _GNU_SOURCE.
// Declarations alone, no system header: including one under _GNU_SOURCE here would define its
// types a second time and differently from Swift's Glibc module.
#pragma once
#include <stdint.h>

// open and openat are variadic.
int clinux_openat(int directory, const char *path, int flags, unsigned int mode);

// glibc 2.36 has no wrapper. Opens below `directory` only: neither `..` nor a symbolic link in the path
// leads out of it (openat2(2) with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS). On a
// kernel without openat2 it calls the next function.
int clinux_open_beneath(int directory, const char *path, int flags, unsigned int mode);

// The same one component at a time, each with O_NOFOLLOW; refuses `..` wherever it stands.
int clinux_open_beneath_stepwise(int directory, const char *path, int flags, unsigned int mode);

// O_PATH and O_DIRECT need _GNU_SOURCE.
int clinux_path_flag(void);
int clinux_direct_flag(void);

// fcntl is variadic, and the open-file-description locks need _GNU_SOURCE.
// `type` is F_RDLCK, F_WRLCK or F_UNLCK; `length` 0 means to the end of the file.
int clinux_ofd_lock(int fd, short type, int64_t offset, int64_t length, int wait);

// Returns 1 if another open file description holds a lock anywhere in the file, 0 if none does, -1 with
// errno. Takes no lock itself, not even for an instant.
int clinux_ofd_is_locked(int fd);

// accept4 needs _GNU_SOURCE. The new descriptor is closed on exec.
int clinux_accept(int listener);

// close_range needs _GNU_SOURCE. Closes every descriptor from `first` on.
int clinux_close_from(unsigned int first);

// syslog is variadic, and its facility and priorities are macros with shifts. `level` 0 to 7.
void clinux_log_open(const char *program);
void clinux_log(int level, const char *message);

// prctl is variadic.
int clinux_prctl(int option, unsigned long a, unsigned long b);

// Needs _GNU_SOURCE. Starts writeback of the range (length 0: to the end) and does not wait.
int clinux_sync_file_range_start(int fd, int64_t offset, int64_t length);

// syncfs needs _GNU_SOURCE.
int clinux_sync_file_system(int fd);

// glibc 2.36 has no wrapper, and syscall is variadic.
int clinux_pidfd_open(int pid);

// Needs _GNU_SOURCE. `flags` as in memfd_create(2).
int clinux_memfd_create(const char *name, unsigned int flags);

// Needs _GNU_SOURCE. Names the calling thread; at most 15 bytes count.
void clinux_set_thread_name(const char *name);

// The CPU_ macros and sched_setaffinity need _GNU_SOURCE. Binds the calling thread to one processor, unless the
// process may not run there. The other call undoes what a new thread inherits from one that is bound.
void clinux_bind_to_processor(unsigned int processor);
void clinux_unbind_from_processor(void);

// Swift cannot choose the section of a variable. Names the source of this program, "unknown commit" unless
// scripts/version has written into the built program (version.c).
const char *clinux_source(void);

// The rest is for a process that confines itself to a cell (cell.c).

// sys/eventfd.h is not in Swift's Glibc module. Close-on-exec and non-blocking.
int clinux_eventfd(void);

// sys/xattr.h is not in Swift's Glibc module. As lsetxattr(2), lgetxattr(2) and llistxattr(2): of the path
// itself, where it is a link.
int clinux_set_attribute(const char *path, const char *name, const void *value, unsigned long size);
long clinux_attribute(const char *path, const char *name, void *value, unsigned long size);
long clinux_attribute_names(const char *path, char *names, unsigned long size);
int clinux_remove_attribute(const char *path, const char *name);

// statx needs _GNU_SOURCE. The device of the file at a path, without asking the file system anew: 0, or -1.
int clinux_device(const char *path, unsigned int *major, unsigned int *minor);

// statx needs _GNU_SOURCE. 1 if a directory is at a path, without asking the file system anew; else 0.
int clinux_is_directory(const char *path);

// The flags of renameat2(2) need _GNU_SOURCE. Fails with EEXIST where the new name is taken.
int clinux_rename_exclusive(const char *from, const char *to);
int clinux_rename_exclusive_at(int from_fd, const char *from, int to_fd, const char *to);

// POSIX_SPAWN_SETSID needs _GNU_SOURCE.
short clinux_spawn_session_flag(void);

// Needs _GNU_SOURCE. `actions` is a posix_spawn_file_actions_t.
int clinux_spawn_close_from(void *actions, int first);

// malloc.h is not in Swift's Glibc module.
void clinux_limit_arenas(int count);

// gettid(2) needs _GNU_SOURCE.
int clinux_thread_id(void);

// unshare(CLONE_FILES): the calling thread gets a descriptor table of its own, without those from `first` on.
int clinux_own_descriptors(unsigned int first);

// setresuid and setresgid need _GNU_SOURCE. Changes the calling thread alone.
int clinux_become(unsigned int user, unsigned int group);

// glibc has no wrapper. For a process with one thread.
int clinux_drop_capabilities(void);

// Swift cannot tell. True if this was built with a sanitizer, whose shadow memory takes terabytes of address
// space.
int clinux_is_sanitized(void);

// dladdr needs _GNU_SOURCE. The file that defines the symbol, or NULL.
const char *clinux_library_of_symbol(const char *symbol);

// glibc has no wrappers. Drops every right of the calling thread that the kernel's Landlock can restrict;
// -1 on a kernel without Landlock.
int clinux_landlock_forbid_all(void);

// The same, but leaves the right to read files and directories below these, separated by colons. Those that are
// missing are skipped.
int clinux_landlock_allow_reading(const char *directories);

// Gives the calling process and its session the lowest priority for processor and disk. -1 if one of these failed
// for the process.
int clinux_yield_to_all(void);

// Gives the calling process and its session about a tenth of the processor that an ordinary one gets, and lets
// others go first at the disk. -1 if one of these failed for the process.
int clinux_take_small_share(void);

// Makes the calling process the first to be killed when memory runs out. -1 if it cannot be.
int clinux_yield_memory(void);

// For a process with one thread: moves it into a user namespace of its own, where RLIMIT_NPROC counts its
// threads alone and not everything that its user runs. -1 if there is no such namespace, or if the kernel
// does not count so.
int clinux_own_user_namespace(void);

// The attempts of probe.c, by number. `prepare` records the parent process, which the cell cannot ask for
// later. `probe` returns 0 if the call succeeded, or its errno.
void clinux_probe_prepare(void);
int clinux_probe_count(void);
const char *clinux_probe_name(int index);
int clinux_probe(int index);
// Sends the process itself a signal, as abort(3) does: 0 or errno.
int clinux_probe_own_signal(void);
// Returns how many threads the process can have at once, at most `limit`. They end after `seconds`.
int clinux_probe_threads(int limit, unsigned seconds);
// Makes a system call through the entry for 32-bit programs, which has numbers of its own.
void clinux_call_as_32_bit(void);

// mallopt's parameters are macros, and <malloc.h> is not in Glibc's module. Makes malloc map large blocks, so
// that free returns them to the kernel, and use two arenas at most.
void clinux_bound_malloc(void);

// malloc_trim(3), which is in <malloc.h>, too. Returns the free pages of the heap to the kernel.
void clinux_return_free_memory(void);

// Swift has no variable of a thread. The ranks of the locks that the calling thread holds, one bit each
// (LockRank.swift, debug builds alone).
uint64_t clinux_held_locks(void);
void clinux_set_held_locks(uint64_t ranks);

// Swift cannot read a part of a pthread mutex atomically. The kernel's number of the thread that holds `lock`, a
// pthread_mutex_t; 0 if none does. Tries to take it and does not wait.
int clinux_lock_holder(void *lock);

// A table without a lock of its own, which Swift has no type for. Waits for `lock`, a pthread_mutex_t that another
// thread holds, and records that the calling thread waits.
void clinux_wait_for_lock(void *lock);
// The number of places in that table, and the thread of one that waits for `lock`: 0 if it waits for none or another.
int clinux_lock_wait_count(void);
int clinux_lock_waiter(void *lock, int place);
