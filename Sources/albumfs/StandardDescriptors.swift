import Glibc

/// Standard input, output and error are open, if on nothing: else the first files that are opened
/// would take their numbers, and messages would go into them.
enum StandardDescriptors {
  static func fill() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      unsafe _ = open("/dev/null", O_RDWR)
    }
  }
}
