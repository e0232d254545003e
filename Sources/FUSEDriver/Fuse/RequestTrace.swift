internal import CFuse3
internal import Glibc
internal import Posix

/// Records each request of the kernel when it has its reply: the operation, the inode, what of the file,
/// the error number and the time. Sees the messages as they come from the kernel and as they go to it,
/// whichever way they take, and so also what libfuse answers by itself. Any thread.
final class RequestTrace: Sendable {
  private struct Begun {
    let what: String
    let begin: MonotonicTime
  }

  /// The sizes of struct fuse_in_header and struct fuse_out_header of linux/fuse.h.
  private static let headerSize = 40
  private static let replyHeaderSize = 16

  private let tracer: EventTracer
  /// The requests without a reply, by the kernel's number.
  private let begun = Mutex<[UInt64: Begun]>([:], rank: .leaf)

  init(_ tracer: EventTracer) { self.tracer = tracer }

  /// A request has come.
  func came(_ request: UnsafeRawBufferPointer) {
    if request.count < RequestTrace.headerSize { return }
    let operation = unsafe request.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
    let number = unsafe request.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    let node = unsafe request.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
    let name = Operation.names[operation] ?? "OPERATION_\(operation)"
    let what =
      unsafe "\(name) node=\(node)\(range(of: request, operation))\(names(in: request, operation))"
    if Operation.withoutReply.contains(operation) { return tracer.record(what) }
    begun.withLock { $0[number] = Begun(what: what, begin: .now) }
  }

  /// A message goes to the kernel: a struct fuse_out_header and its payload. Ignores those that are no
  /// replies.
  func replies(_ message: UnsafeBufferPointer<iovec>) {
    guard let header = unsafe message.first, unsafe header.count >= RequestTrace.replyHeaderSize,
      let start = unsafe header.start
    else { return }
    let length = unsafe start.loadUnaligned(as: UInt32.self)
    let error = unsafe start.loadUnaligned(fromByteOffset: 4, as: Int32.self)
    let number = unsafe start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    guard let request = begun.withLock({ $0.removeValue(forKey: number) }) else { return }
    let size = max(0, Int(length) - RequestTrace.replyHeaderSize)
    tracer.record("\(request.what) reply=\(size) errno=\(error.magnitude)", since: request.begin)
  }

  /// The part of a file that a request reads or writes.
  private func range(of request: UnsafeRawBufferPointer, _ operation: UInt32) -> String {
    let size = unsafe cfuse3_data_size(request.baseAddress, request.count)
    if size == 0 { return "" }
    let offset = unsafe request.loadUnaligned(
      fromByteOffset: RequestTrace.headerSize + 8, as: UInt64.self)
    return " offset=\(offset) size=\(size)"
  }

  /// The names that a request has. They begin behind its structure, and each ends with a zero.
  private func names(in request: UnsafeRawBufferPointer, _ operation: UInt32) -> String {
    guard tracer.showsNames, let place = Operation.placesOfNames[operation] else { return "" }
    let rest = unsafe UnsafeRawBufferPointer(
      rebasing: request.dropFirst(RequestTrace.headerSize + place.offset))
    let found = unsafe rest.split(separator: 0, maxSplits: place.count).prefix(place.count)
    return unsafe found.map { " name=" + (unsafe EventTracer.quoted($0)) }.joined()
  }
}

/// The operations of linux/fuse.h.
private enum Operation {
  static let names: [UInt32: String] = [
    1: "LOOKUP", 2: "FORGET", 3: "GETATTR", 4: "SETATTR", 5: "READLINK", 6: "SYMLINK", 8: "MKNOD",
    9: "MKDIR", 10: "UNLINK", 11: "RMDIR", 12: "RENAME", 13: "LINK", 14: "OPEN", 15: "READ",
    16: "WRITE", 17: "STATFS", 18: "RELEASE", 20: "FSYNC", 21: "SETXATTR", 22: "GETXATTR",
    23: "LISTXATTR", 24: "REMOVEXATTR", 25: "FLUSH", 26: "INIT", 27: "OPENDIR", 28: "READDIR",
    29: "RELEASEDIR", 30: "FSYNCDIR", 31: "GETLK", 32: "SETLK", 33: "SETLKW", 34: "ACCESS",
    35: "CREATE", 36: "INTERRUPT", 37: "BMAP", 38: "DESTROY", 39: "IOCTL", 40: "POLL",
    41: "NOTIFY_REPLY", 42: "BATCH_FORGET", 43: "FALLOCATE", 44: "READDIRPLUS", 45: "RENAME2",
    46: "LSEEK", 47: "COPY_FILE_RANGE", 48: "SETUPMAPPING", 49: "REMOVEMAPPING", 50: "SYNCFS",
    51: "TMPFILE", 52: "STATX", 53: "COPY_FILE_RANGE_64",
  ]

  static let withoutReply: Set<UInt32> = [2, 36, 41, 42]

  /// The bytes between the header and the first name, and the number of names. The names of extended
  /// attributes before a value are not shown, nor what a link leads to.
  static let placesOfNames: [UInt32: (offset: Int, count: Int)] = [
    1: (0, 1), 6: (0, 1), 8: (16, 1), 9: (8, 1), 10: (0, 1), 11: (0, 1), 12: (8, 2), 13: (8, 1),
    22: (8, 1), 24: (0, 1), 35: (16, 1), 45: (16, 2),
  ]
}
