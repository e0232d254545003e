/// Who asks: whose user and group a new inode gets.
package struct Caller: Sendable {
  package var user: UInt32
  package var group: UInt32
  /// The observer that asks. It learns with each change whether it is the one that it asked for.
  package var observer: (any FileSystemObserver)?
  package init(user: UInt32, group: UInt32, observer: (any FileSystemObserver)? = nil) {
    self.user = user
    self.group = group
    self.observer = observer
  }

  /// albumfs itself, for what nobody asked for.
  package static let daemon = Caller(user: 0, group: 0)
}
