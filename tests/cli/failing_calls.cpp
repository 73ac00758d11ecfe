// Preloaded (LD_PRELOAD) library that makes system calls fail: the FAIL_AT-th call of the function FAIL_CALL, and all
// later ones, counted after a file whose name ends with FAIL_AFTER was opened, which skips the start of the program.
// Creates the file FAIL_MARK when a call has failed. With FAIL_HOW=wait, such a call never returns instead.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<bool> armed = false;
std::atomic<long> calls = 0;

bool is_set(const char* name, const char* value) {
  const char* const found = std::getenv(name);
  return found != nullptr && std::strcmp(found, value) == 0;
}

void look_at(const char* path) {
  const char* const ending = std::getenv("FAIL_AFTER");
  if (ending == nullptr || path == nullptr) return;
  const std::size_t length = std::strlen(path);
  const std::size_t wanted = std::strlen(ending);
  if (length >= wanted && std::strcmp(path + length - wanted, ending) == 0) armed = true;
}

/// Whether this call of the function is to fail.
bool fails(const char* function) {
  if (!armed || !is_set("FAIL_CALL", function)) return false;
  const char* const at = std::getenv("FAIL_AT");
  const long number = ++calls;
  if (at == nullptr || number < std::atol(at)) return false;
  const char* const mark = std::getenv("FAIL_MARK");
  const long file = mark == nullptr ? -1 : syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) syscall(SYS_close, file);
  while (is_set("FAIL_HOW", "wait")) pause();
  return true;
}

int opened(int folder, const char* path, int flags, mode_t mode) {
  look_at(path);
  if ((flags & O_CREAT) != 0 && fails("create")) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));

// Streams of the standard library open files with fopen64.
FILE* fopen64(const char* path, const char* mode) {
  look_at(path);
  using Function = FILE* (*)(const char*, const char*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "fopen64"));
  return next(path, mode);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  if (fails("pthread_create")) return EAGAIN;
  using Function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, start, argument);
}

ssize_t write(int file, const void* bytes, size_t count) {
  // Messages to the user are not tested here.
  if (file > STDERR_FILENO && fails("write")) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_write, file, bytes, count);
}

int fsync(int file) {
  if (fails("fsync")) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, file));
}

int rename(const char* from, const char* to) {
  if (fails("rename")) {
    errno = EACCES;
    return -1;
  }
  return static_cast<int>(syscall(SYS_rename, from, to));
}
}
