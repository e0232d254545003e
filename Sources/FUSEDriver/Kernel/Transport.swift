package import Posix

/// How requests of the kernel come to the driver, and its replies to the kernel.
package enum TransportChoice: Sendable {
  /// Over io_uring if the kernel offers that, otherwise over the device.
  case automatic
  /// By reads and writes of the FUSE device.
  case device
  /// Over io_uring; a mount fails without it.
  case ring
}

/// Why a mount cannot use io_uring.
package enum RingFault: Error, Equatable, Sendable {
  /// The kernel is older than Linux 6.14, or was built without FUSE over io_uring.
  case unknownToKernel
  /// The kernel's parameter `enable_uring` is off.
  case switchedOff
  /// A thread, or a ring for it, cannot be made.
  case unavailable(Errno)
  /// The kernel did not take the rings for this mount.
  case refused(Errno)
}

/// How they come in a mount.
package enum TransportInUse: Sendable {
  case ring
  /// With the reason why not over io_uring, unless the device was chosen.
  case device(RingFault?)
}

/// Finds out whether the kernel offers FUSE over io_uring.
package enum KernelRings {
  /// Throws if no mount can use io_uring.
  package static func check() throws(RingFault) {
    let content: [UInt8]
    do throws(Errno) {
      content = try readWholeFile("/sys/module/fuse/parameters/enable_uring")
    } catch {
      throw .unknownToKernel
    }
    if content.first != UInt8(ascii: "Y") { throw .switchedOff }
  }

  /// The number of queues for requests: one for each processor that the machine may ever have.
  static func queueCount() throws(Errno) -> Int {
    let count = count(try readWholeFile("/sys/devices/system/cpu/possible"))
    if count == 0 { throw .invalid }
    return count
  }

  /// Counts the numbers in a list of numbers and ranges, such as `0-3,8`.
  static func count(_ list: [UInt8]) -> Int {
    let text = String(decoding: list.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    return text.split(separator: ",").reduce(0) { count, part in
      let ends = part.split(separator: "-").compactMap { Int($0) }
      guard let first = ends.first, let last = ends.last, first <= last else { return count }
      return count + last - first + 1
    }
  }
}
