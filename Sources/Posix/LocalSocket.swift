internal import Glibc

/// Creates a connected pair of sockets, for this process and one that it starts. Both close on exec.
package func makeSocketPair() throws(Errno) -> (CInt, CInt) {
  var ends: [CInt] = [-1, -1]
  let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
  try retrying { unsafe socketpair(AF_UNIX, kind, 0, &ends) }
  return (ends[0], ends[1])
}

extension FileDescriptor {
  /// Receives an open descriptor over this socket (SCM_RIGHTS, unix(7)); nil if the other side sent none.
  /// Does not wait.
  package func receiveDescriptor() -> FileDescriptor? {
    let raw = receiveRawDescriptor()
    return raw >= 0 ? FileDescriptor(owning: raw) : nil
  }

  /// Returns -1 if no descriptor arrived.
  private func receiveRawDescriptor() -> CInt {
    // The control data is one struct cmsghdr with one int: 16 bytes of header and 4 of data, padded.
    unsafe withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { room in
      unsafe room.initializeMemory(as: UInt8.self, repeating: 0)
      var data = unsafe iovec(iov_base: room.baseAddress! + 56, iov_len: 1)
      var message = unsafe msghdr()
      let count = unsafe withUnsafeMutablePointer(to: &data) { data in
        unsafe message.msg_iov = data
        unsafe message.msg_iovlen = 1
        unsafe message.msg_control = room.baseAddress
        unsafe message.msg_controllen = 48
        return unsafe recvmsg(
          rawValue, &message, CInt(MSG_DONTWAIT) | CInt(MSG_CMSG_CLOEXEC))
      }
      let level = unsafe room.load(fromByteOffset: 8, as: CInt.self)
      let type = unsafe room.load(fromByteOffset: 12, as: CInt.self)
      guard count > 0, unsafe message.msg_controllen >= 20, level == SOL_SOCKET,
        type == SCM_RIGHTS
      else { return -1 }
      return unsafe room.load(fromByteOffset: 16, as: CInt.self)
    }
  }
}
