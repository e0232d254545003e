#include "CFreshMemory.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define OWN_MALLOC_OF_SANITIZER 1
#endif
#endif

__attribute__((noinline)) void cfreshmemory_clear_stack(void) {
  char below[256 << 10];
  memset(below, 0, sizeof below);
  // Makes the compiler assume that the memory is read.
  __asm__ volatile("" : : "r"(below) : "memory");
}

#ifdef OWN_MALLOC_OF_SANITIZER

void cfreshmemory_begin(void) {}
int cfreshmemory_is_on(void) { return 0; }

#else

// glibc's own functions, under the names that it keeps for programs that replace them.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);

static int isOn = 0;

void cfreshmemory_begin(void) {
  // Blocks above this size come from the kernel, which zeroes them. It is fixed, because otherwise glibc would
  // adapt it to the blocks that the program frees.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  isOn = 1;
}

int cfreshmemory_is_on(void) { return isOn; }

// A bit in the word before the block: the kernel has just mapped it.
static int is_mapped(void *block) { return (((size_t *)block)[-1] & 2) != 0; }

static void *fresh(void *block) {
  if (isOn && block != NULL && !is_mapped(block)) memset(block, 0, malloc_usable_size(block));
  return block;
}

void *malloc(size_t size) { return fresh(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) {
  size_t all;
  if (!isOn) return __libc_calloc(count, size);
  if (__builtin_mul_overflow(count, size, &all)) {
    errno = ENOMEM;
    return NULL;
  }
  return fresh(__libc_malloc(all));
}

void *realloc(void *block, size_t size) {
  if (!isOn) return __libc_realloc(block, size);
  if (block == NULL) return malloc(size);
  size_t former = malloc_usable_size(block);
  void *moved = __libc_realloc(block, size);
  if (moved == NULL) return NULL;
  // Clears the bytes after the content, including those that the block had before it was made smaller.
  size_t kept = former < size ? former : size;
  size_t usable = malloc_usable_size(moved);
  if (kept < usable && (size < former || !is_mapped(moved))) {
    memset((char *)moved + kept, 0, usable - kept);
  }
  return moved;
}

void *reallocarray(void *block, size_t count, size_t size) {
  size_t all;
  if (__builtin_mul_overflow(count, size, &all)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(block, all);
}

void *memalign(size_t alignment, size_t size) { return fresh(__libc_memalign(alignment, size)); }

void *aligned_alloc(size_t alignment, size_t size) {
  return fresh(__libc_memalign(alignment, size));
}

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return EINVAL;
  }
  // Returns its error, and leaves errno unchanged.
  int before = errno;
  void *made = fresh(__libc_memalign(alignment, size));
  errno = before;
  if (made == NULL) return ENOMEM;
  *block = made;
  return 0;
}

void *valloc(size_t size) { return fresh(__libc_valloc(size)); }

void *pvalloc(size_t size) { return fresh(__libc_pvalloc(size)); }

#endif

// MARK: The self-test

static size_t old_bytes(const unsigned char *block, size_t from, size_t to) {
  size_t count = 0;
  for (size_t at = from; block != NULL && at < to; at++) count += block[at] != 0;
  return count;
}

size_t cfreshmemory_try(void) {
  enum { rounds = 200 };
  static const size_t sizes[] = {1, 24, 100, 1000, 1032, 5000, 70000, 400000, 1 << 20, 3 << 20};
  size_t found = 0;
  unsigned char *blocks[rounds];
  for (int way = 0; way < 8; way++) {
    for (int at = 0; at < rounds; at++) {
      size_t size = sizes[at % 10];
      // Leaves data behind, also in the tail of a block that was made smaller.
      unsigned char *before = malloc(size);
      if (before != NULL) memset(before, 0xaa, size);
      unsigned char *block = NULL;
      size_t from = 0;
      switch (way) {
        case 0: free(before); block = malloc(size); break;
        case 1: free(before); block = calloc(size, 1); break;
        case 2: free(before); block = memalign(64, size); break;
        case 3: free(before); block = aligned_alloc(64, (size + 63) / 64 * 64); break;
        case 4:
          free(before);
          if (posix_memalign((void **)&block, 128, size) != 0) block = NULL;
          break;
        case 5: free(before); block = valloc(size); break;
        case 6: block = realloc(before, size + size / 2 + 1); from = size; size += size / 2 + 1; break;
        default:
          block = realloc(before, size / 2 + 1);
          from = size / 2 + 1;
          block = realloc(block, size + 8);
          size += 8;
      }
      found += old_bytes(block, from, size);
      blocks[at] = block;
    }
    for (int at = 0; at < rounds; at++) free(blocks[at]);
  }
  return found;
}
