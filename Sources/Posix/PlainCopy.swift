package import AlbumModel
internal import CLinux
internal import Glibc

/// Copies a file, and compares a copy with its original, in steps that the caller watches.
package enum PlainCopy {
  /// The failed side and its error.
  package enum Fault: Error, Equatable {
    case source(Errno)
    case target(Errno)
    /// The original changed while it was read.
    case changed
    /// The caller's `watch` returned false.
    case stopped

    package var errno: Errno {
      switch self {
      case .source(let error), .target(let error): error
      case .changed: .stale
      case .stopped: .interrupted
      }
    }
  }

  private static let chunk = 1 << 20

  /// Creates a file with the content, permissions, modification time and extended attributes of a regular
  /// file. Leaves nothing if it fails. Leaves out permissions, times and attributes that the target's file
  /// system refuses.
  ///
  /// - Parameters:
  ///   - inode: throws `.changed` where the path of the original leads to another file; nil: to any.
  ///   - watch: gets the number of bytes that were copied; returns false to stop.
  /// - Returns: the original as it was copied.
  package static func make(
    _ path: some SystemPath, from source: some SystemPath, of inode: UInt64? = nil,
    watch: (Int64) -> Bool = { _ in true }
  ) throws(Fault) -> PlainEntry {
    let from = try reading(source) { .source($0) }
    let entry = try onSource { () throws(Errno) in PlainEntry(try from.status()) }
    guard entry.kind == .file else { throw .source(.invalid) }
    if let inode, entry.file.inode != inode { throw .changed }
    let to: FileDescriptor
    do throws(Errno) {
      to = try FileDescriptor(open: path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
    } catch {
      throw .target(error)
    }
    do throws(Fault) {
      try copyContent(from, to, watch)
      let after = try onSource { () throws(Errno) in PlainEntry(try from.status()) }
      if !after.hasContent(of: entry) { throw .changed }
      copyAttributes(source, to: path)
      // Attributes come by the path, which may lead elsewhere by now.
      if let inode {
        let now = try onSource { () throws(Errno) in try PlainEntry(source) }
        if now.file.inode != inode { throw .changed }
      }
      try setStatus(of: to, from: entry)
    } catch {
      unsafe _ = unlink(path.cString)
      throw error
    }
    do throws(Errno) { try to.close() } catch {
      unsafe _ = unlink(path.cString)
      throw .target(error)
    }
    return entry
  }

  private static func copyContent(
    _ from: borrowing FileDescriptor, _ to: borrowing FileDescriptor, _ watch: (Int64) -> Bool
  ) throws(Fault) {
    var buffer = [UInt8](repeating: 0, count: chunk)
    var offset: Int64 = 0
    while true {
      if !watch(0) { throw .stopped }
      let count: Int
      do throws(Errno) { count = try from.fill(&buffer, at: offset) } catch { throw .source(error) }
      if count == 0 { return }
      do throws(Errno) {
        try to.writeAll(count == buffer.count ? buffer : Array(buffer[..<count]))
      } catch {
        throw .target(error)
      }
      offset += Int64(count)
      if !watch(Int64(count)) { throw .stopped }
    }
  }

  private static func setStatus(
    of to: borrowing FileDescriptor, from entry: PlainEntry
  ) throws(Fault) {
    do throws(Errno) {
      try unlessRefused { () throws(Errno) in
        try retrying { fchmod(to.rawValue, entry.permissions & 0o777) }
      }
      try unlessRefused { () throws(Errno) in try to.setTimes(entry.modified) }
    } catch {
      throw .target(error)
    }
  }

  /// FAT has neither permissions nor owners, and refuses to set them.
  private static func unlessRefused(_ body: () throws(Errno) -> Void) throws(Errno) {
    do throws(Errno) { try body() } catch {
      if error != .notPermitted, error != .notSupported { throw error }
    }
  }

  private static func onSource<Result>(_ body: () throws(Errno) -> Result) throws(Fault) -> Result {
    do throws(Errno) { return try body() } catch { throw .source(error) }
  }

  /// Opens a file for reading. Never waits for a FIFO that another program put in its place.
  private static func reading(
    _ path: some SystemPath, _ fault: (Errno) -> Fault
  ) throws(Fault) -> FileDescriptor {
    do throws(Errno) {
      return try FileDescriptor(open: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    } catch {
      throw fault(error)
    }
  }

  /// True if both files hold the same bytes. Drops the kernel's copy of the second one first, so that its
  /// content comes from the file system.
  ///
  /// - Parameters:
  ///   - part: the stretch of the second file that is the copy; nil: all of it.
  ///   - watch: gets the number of bytes that were compared; returns false to stop.
  package static func isEqual(
    _ original: some SystemPath, _ copy: some SystemPath, part: Range<Int64>? = nil,
    watch: (Int64) -> Bool = { _ in true }
  ) throws(Fault) -> Bool {
    let a = try reading(original) { .source($0) }
    let b = try reading(copy) { .target($0) }
    let size = try onSource { () throws(Errno) in try a.size() }
    do throws(Errno) {
      let all = 0..<(try b.size())
      if (part ?? all).count != size || (part ?? all).upperBound > all.upperBound { return false }
    } catch {
      throw .target(error)
    }
    let start = part?.lowerBound ?? 0
    _ = posix_fadvise(b.rawValue, 0, 0, POSIX_FADV_DONTNEED)
    var (left, right) = ([UInt8](repeating: 0, count: chunk), [UInt8](repeating: 0, count: chunk))
    var offset: Int64 = 0
    while true {
      if !watch(0) { throw .stopped }
      let count: Int
      let other: Int
      do throws(Errno) { count = try a.fill(&left, at: offset) } catch { throw .source(error) }
      do throws(Errno) {
        other = try b.fill(&right, at: start + offset)
      } catch {
        throw .target(error)
      }
      // More of the second file may follow the part.
      if other < count || part == nil && other != count { return false }
      if left[..<count] != right[..<count] { return false }
      if count == 0 { return true }
      offset += Int64(count)
      if !watch(Int64(count)) { throw .stopped }
    }
  }

  /// Reads a copy from its file system, and not from the kernel's copy, in pieces of bounded size.
  ///
  /// - Parameters:
  ///   - part: the stretch that is read; nil: all of it.
  ///   - body: gets each piece; returns false to stop.
  package static func readBack(
    _ copy: some SystemPath, part: Range<Int64>? = nil, _ body: ([UInt8]) -> Bool
  ) throws(Fault) {
    let file = try reading(copy) { .target($0) }
    _ = posix_fadvise(file.rawValue, 0, 0, POSIX_FADV_DONTNEED)
    var offset = part?.lowerBound ?? 0
    while true {
      let count = Int(min(Int64(chunk), (part?.upperBound ?? .max) - offset))
      let piece: [UInt8]
      do throws(Errno) { piece = try file.bytes(count, at: offset) } catch {
        throw .target(error)
      }
      if piece.isEmpty { return }
      if !body(piece) { throw .stopped }
      offset += Int64(piece.count)
    }
  }

  /// True if a copy has the modification time to the second, the permissions and all attributes of users that
  /// the original has. `modified` is the time that the copy got instead, if it got another one.
  package static func hasDetails(
    of original: some SystemPath, _ copy: some SystemPath, modified: Int64? = nil
  ) -> Bool {
    guard let one = try? PlainEntry(original), let other = try? PlainEntry(copy) else {
      return false
    }
    return [one.modified.seconds, modified].contains(other.modified.seconds)
      && one.permissions & 0o777 == other.permissions & 0o777
      && userAttributes(of: original).allSatisfy { attribute(copy, $0) == attribute(original, $0) }
  }

  private static func userAttributes(of path: some SystemPath) -> [[CChar]] {
    attributeNames(of: path).filter { $0.starts(with: "user.".cString.dropLast()) }
  }

  /// The names of all attributes, each with its NUL.
  private static func attributeNames(of path: some SystemPath) -> [[CChar]] {
    let path = path.cString
    var names = [CChar](repeating: 0, count: 1 << 16)
    let length = unsafe clinux_attribute_names(path, &names, UInt(names.count))
    return length <= 0 ? [] : names[..<length].split(separator: 0).map { Array($0) + [0] }
  }

  /// nil if there is none.
  private static func attribute(_ path: some SystemPath, _ name: [CChar]) -> [UInt8]? {
    let path = path.cString
    var value = [UInt8](repeating: 0, count: 1 << 16)
    let size = unsafe clinux_attribute(path, name, &value, UInt(value.count))
    return size < 0 ? nil : Array(value[..<size])
  }

  /// Copies the attributes that users set, and the access control lists. Returns false if the file system
  /// refused an access control list. It may refuse other attributes, too.
  @discardableResult
  static func copyAttributes(_ source: some SystemPath, to path: some SystemPath) -> Bool {
    let target = path.cString
    var keepsLists = true
    for name in attributeNames(of: source) {
      let isList = name.starts(with: "system.posix_acl_".cString.dropLast())
      guard isList || name.starts(with: "user.".cString.dropLast()),
        let value = attribute(source, name)
      else { continue }
      if unsafe clinux_set_attribute(target, name, value, UInt(value.count)) != 0, isList {
        keepsLists = false
      }
    }
    return keepsLists
  }
}

extension FileDescriptor {
  /// The bytes at an offset: `count`, or fewer where the file ends.
  func bytes(_ count: Int, at offset: Int64) throws(Errno) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    let read = try fill(&buffer, at: offset)
    return read == count ? buffer : Array(buffer[..<read])
  }
}

/// A regular file that a parser reads in pieces.
package struct PlainReader: ~Copyable {
  private let descriptor: FileDescriptor
  /// In bytes, as of the time when it was opened.
  package let size: Int64

  package init(_ path: some SystemPath) throws(Errno) {
    let opened = try FileDescriptor(open: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    size = try opened.size()
    descriptor = opened
  }

  /// The bytes at an offset: `count`, or fewer where the file ends.
  package func bytes(_ count: Int, at offset: Int64) throws(Errno) -> [UInt8] {
    try descriptor.bytes(count, at: offset)
  }
}

/// A new file that is written from its begin to its end, where numbers in earlier parts may be set later.
package struct PlainWriter: ~Copyable {
  private let descriptor: FileDescriptor
  /// The offset of the next bytes.
  package private(set) var end: Int64 = 0

  /// Creates the file. Throws `.exists` where the name is taken.
  package init(_ path: some SystemPath) throws(Errno) {
    descriptor = try FileDescriptor(
      open: path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o666)
  }

  package mutating func append(_ bytes: [UInt8]) throws(Errno) {
    try write(bytes, at: end)
    end += Int64(bytes.count)
  }

  /// Replaces bytes that were written before.
  package func write(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
    var done = 0
    while done < bytes.count {
      let from = done
      done += try retrying {
        unsafe bytes.withUnsafeBytes {
          unsafe pwrite(
            descriptor.rawValue, $0.baseAddress! + from, bytes.count - from,
            off_t(offset + Int64(from)))
        }
      }
    }
  }

  /// Drops what was written from an offset on.
  package mutating func cut(to offset: Int64) throws(Errno) {
    try retrying { ftruncate(descriptor.rawValue, off_t(offset)) }
    end = offset
  }

  package func setTime(_ time: Timestamp) throws(Errno) { try descriptor.setTimes(time) }

  package func synchronize() throws(Errno) { try descriptor.synchronize() }
}
