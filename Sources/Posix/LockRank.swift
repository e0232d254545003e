internal import CLinux

// The order of all locks of albumfs. A thread that holds a lock takes only locks of a higher rank, so no
// two threads can wait for one another. A debug build checks that at every lock; a release build knows
// no ranks.
//
// | rank           | guards                                          | may be held during                      |
// | -------------- | ----------------------------------------------- | --------------------------------------- |
// | sending        | the turn to send what is staged to where the    | all of that                             |
// |                | store lies                                      |                                         |
// | compaction     | the turn to move, retire and remove segments    | all of that                             |
// | checkpointing  | the turn to write a checkpoint                  | all of that, its sync too               |
// | barrier        | the order of barriers and rescues               | syncs of data and journal; a rescue     |
// | journal        | the order of frames                             | writing frames; the sync that ends a    |
// |                |                                                 | journal segment; unlinking one file;    |
// |                |                                                 | a rescue, which states what open files  |
// |                |                                                 | have pending and so takes all below     |
// | fence          | the fence while it is made                      | making it; listing the store            |
// | openFiles      | one part of the table of open contents          | a look at the catalog                   |
// | content        | one file's bytes that are not sealed yet        | changing the catalog                    |
// | newSegment     | the turn to begin a data segment                | a look for room; filling the reserve    |
// | reserve        | which segments of the reserve exist             | making and unlinking them               |
// | sync           | what is synced of one kind of segment           | that sync                               |
// | sequences      | numbers for records, taken in thousands         | taking them from the catalog            |
// | spaceLock      | the files with a space's lock between processes | calls on them                           |
// | catalog        | the tree of a space in memory                   | nothing slow: no disk, no sealing       |
// | openSegments   | which segments are being filled                 | nothing slow                            |
// | segment        | how far one of them is filled and written       | nothing slow                            |
// | files          | names and descriptors; what is not synced       | nothing slow                            |
// | leaf           | one thing each; no lock is taken under it       | a short system call                     |
// | outage         | whether the store responds; which directory and | nothing slow                            |
// |                | descriptors lead to it                          |                                         |
// | random         | the pool of random bytes                        | its refill from the kernel              |
// | test           | what tests make: disks, clocks                  | what tests want                         |
//
// A call to a store on a network may wait as long as that is away, and then writes to the log. So it ranks
// as the catalog does (`Outages.calling`): a thread makes it with none of the locks from there on.
//
// A caller that waits for room on a full disk holds none of these (`Reclaims`). Locks between processes
// (of a space, and of `keys`) are taken with none of these held.

/// The place of a lock in the order of locks: outermost first.
package enum LockRank: UInt8, CaseIterable, Sendable {
  case sending
  case compaction
  case checkpointing
  case barrier
  case journal
  case fence
  case openFiles
  case content
  case newSegment
  case reserve
  case sync
  case sequences
  case spaceLock
  case catalog
  case openSegments
  case segment
  case files
  case leaf
  case outage
  case random
  case test

  /// Runs `body` as if the thread held a lock of this rank, while something else keeps other threads out.
  package func holding<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    #if DEBUG
    take()
    defer { release() }
    #endif
    return try body()
  }

  #if DEBUG
  /// Records that the calling thread takes a lock, before it waits for the lock. Ends the process where the
  /// thread holds a lock of this rank or a higher one.
  func take() {
    let held = clinux_held_locks()
    let own: UInt64 = 1 << rawValue
    if held >= own {
      let highest = LockRank(rawValue: UInt8(63 - held.leadingZeroBitCount))!
      fatalError(
        "lock order: a thread that holds a lock of rank '\(highest)' takes one of rank '\(self)', which must be taken first (see LockRank)"
      )
    }
    clinux_set_held_locks(held | own)
  }

  func release() { clinux_set_held_locks(clinux_held_locks() & ~(1 << rawValue)) }
  #endif
}
