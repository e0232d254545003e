/// What is at rest on this machine and on its way to where a store lies.
package struct RelayState: Sendable, Equatable {
  /// The bytes of files that were written here and are not there yet.
  package var unsentBytes: Int64
  /// Counts the bytes that were sent.
  package var sentBytes: Int64
  /// Why the last attempt to send something failed; nil if it did not.
  package var problem: String?

  package init(unsentBytes: Int64, sentBytes: Int64, problem: String? = nil) {
    self.unsentBytes = unsentBytes
    self.sentBytes = sentBytes
    self.problem = problem
  }
}

/// A path of this machine that keeps the staging from being used.
package struct StagingFault: Error, Equatable {
  package var path: String
  package var error: Errno

  package init(path: String, error: Errno) { (self.path, self.error) = (path, error) }
}

/// The file of a relay as it was at one moment.
package protocol StagedCopy: Sendable {}

/// A store that lies elsewhere, as whole objects. What a session writes is in files of this machine first,
/// its staging. The session sends them in an order of its own, since only it knows what they hold. Any thread
/// may make these calls; `send` comes from one at a time.
package protocol StorageRelay: AnyObject, Sendable {
  /// Begins a session that writes. `name` tells its staging from that of other spaces. What a killed session
  /// has staged is there again, and unsent.
  func begin(_ name: String) throws(StagingFault)
  /// Ends the session. Removes what is sent from this machine; the rest stays for the next session. What an
  /// overtaken session had staged goes only when all of it is sent.
  func end()

  /// True if another session has taken the space over from one whose files are staged. Stays true for later
  /// sessions, until `end` has removed all of it.
  var isOvertaken: Bool { get }
  /// Records that durably, before anything is sent.
  func recordOvertaken() throws(Errno)

  /// The files that were written after they were sent.
  var unsent: Set<String> { get }
  var condition: RelayState { get }
  /// The bytes of all segments, here and there.
  var storedBytes: Int64 { get throws(Errno) }

  /// Keeps the content that files have now, which `sendAnnounced` sends in their order. All but the last get
  /// these bytes in the place of their first ones. Does nothing if one of the files was sent before.
  func announce(_ paths: [String], beginningWith bytes: [UInt8]) throws(Errno)
  func sendAnnounced() throws(Errno)

  /// The names that were removed here and not there, in their order.
  var unsentRemovals: [String] { get }
  func sendRemovals(_ paths: [String]) throws(Errno)

  func copy(_ path: String) throws(Errno) -> any StagedCopy
  func send(_ copy: any StagedCopy) throws(Errno)
  /// Sends files as they are now, in no order.
  func send(_ paths: some Collection<String>) throws(Errno)
  /// Sends a file with other bytes in the place of its first ones. It stays unsent.
  func send(_ path: String, beginningWith bytes: [UInt8]) throws(Errno)

  /// Creates a file there, at once and as a whole. Throws `.exists` if there is one. It does not come to the
  /// staging.
  func create(_ path: String, _ bytes: [UInt8]) throws(Errno)
  /// Calls `isOver` now and then, after a call that threw `error`, and returns when that is true. Throws the
  /// error when the session ends.
  func wait(after error: Errno, until isOver: () -> Bool) throws(Errno)
}
