import AlbumModel
import Posix
import Testing
import Thumbnails

/// The life of a worker, without a worker.
struct WorkerStateTests {
  private func at(_ seconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: seconds * 1_000_000_000)
  }

  @Test("No process is started before there is a picture")
  func lazy() {
    var state = WorkerState()
    #expect(state.next(hasPicture: false, now: at(0)) == .wait(until: nil))
    #expect(state.next(hasPicture: true, now: at(1)) == .start)
  }

  @Test("A worker that answers serves one picture after the other, and ends after 30 idle seconds")
  func idle() {
    var state = started()
    for _ in 0..<3 {
      #expect(state.next(hasPicture: true, now: at(0)) == .serve)
      #expect(state.ended(.answered, now: at(5)) == .done)
    }
    #expect(state.next(hasPicture: false, now: at(5)) == .wait(until: at(35)))
    #expect(state.next(hasPicture: false, now: at(34)) == .wait(until: at(35)))
    #expect(state.next(hasPicture: false, now: at(35)) == .end)
    #expect(state.next(hasPicture: true, now: at(36)) == .start)
  }

  @Test("A fresh worker that dies takes its picture with it; the next gets a new one")
  func dies() {
    var state = started()
    #expect(state.next(hasPicture: true, now: at(0)) == .serve)
    #expect(state.ended(.died, now: at(1)) == .fail(.workerDied))
    #expect(state.next(hasPicture: true, now: at(1)) == .start)
  }

  @Test(
    "A worker that served before and dies may have died of an earlier picture, so the picture is tried again"
  )
  func retry() {
    var state = started()
    #expect(state.next(hasPicture: true, now: at(0)) == .serve)
    #expect(state.ended(.answered, now: at(1)) == .done)
    #expect(state.next(hasPicture: true, now: at(1)) == .serve)
    #expect(state.ended(.died, now: at(2)) == .retry)
    #expect(state.next(hasPicture: true, now: at(2)) == .start)
    state.started(now: at(2))
    #expect(state.next(hasPicture: true, now: at(2)) == .serve)
    #expect(state.ended(.died, now: at(3)) == .fail(.workerDied))
  }

  @Test("A picture on which a worker starves is given to another; it is not to blame")
  func starved() {
    var state = started()
    for _ in 0..<3 {
      #expect(state.next(hasPicture: true, now: at(0)) == .serve)
      #expect(state.ended(.starved, now: at(1)) == .retry)
      #expect(state.next(hasPicture: true, now: at(1)) == .start)
      state.started(now: at(1))
    }
  }

  @Test("A worker with another share of the processor than the next picture may have is replaced")
  func dismissed() {
    var state = started()
    #expect(state.next(hasPicture: true, now: at(0)) == .serve)
    #expect(state.ended(.answered, now: at(1)) == .done)
    state.dismissed()
    #expect(state.next(hasPicture: true, now: at(1)) == .start)
  }

  @Test("A worker that is too slow is replaced, and the picture is not tried again")
  func timedOut() {
    var state = started()
    #expect(state.next(hasPicture: true, now: at(0)) == .serve)
    #expect(state.ended(.answered, now: at(1)) == .done)
    #expect(state.next(hasPicture: true, now: at(1)) == .serve)
    #expect(state.ended(.timedOut, now: at(61)) == .fail(.timedOut))
    #expect(state.next(hasPicture: true, now: at(61)) == .start)
  }

  @Test("A photo that changed under way costs the worker, no failure")
  func abandoned() {
    var state = started()
    #expect(state.next(hasPicture: true, now: at(0)) == .serve)
    #expect(state.ended(.abandoned, now: at(1)) == .done)
    #expect(state.phase == .absent)
  }

  @Test("A worker is renewed after 64 pictures, though it did nothing wrong")
  func renewed() {
    var state = started()
    for number in 1...WorkerState.picturesPerProcess {
      #expect(state.next(hasPicture: true, now: at(0)) == .serve)
      #expect(state.ended(.answered, now: at(0)) == .done)
      #expect((state.phase == .absent) == (number == 64))
    }
    #expect(state.next(hasPicture: true, now: at(0)) == .start)
  }

  @Test("A worker that sends or ends while it is idle costs no picture anything")
  func lost() {
    var state = started()
    #expect(state.next(hasPicture: true, now: at(0)) == .serve)
    #expect(state.ended(.answered, now: at(1)) == .done)
    state.lost(now: at(2))
    #expect(state.next(hasPicture: true, now: at(2)) == .start)
  }

  @Test("A worker that sends before its first picture is started less and less often")
  func lostAtOnce() {
    var state = WorkerState()
    var now: Int64 = 0
    for wait: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
      #expect(state.next(hasPicture: true, now: at(now)) == .start)
      state.started(now: at(now))
      state.lost(now: at(now))
      #expect(state.next(hasPicture: true, now: at(now)) == .wait(until: at(now + wait)))
      now += wait
    }
  }

  @Test("Starts that fail come less and less often, and a success forgets them")
  func backOff() {
    var state = WorkerState()
    var now: Int64 = 0
    for wait: Int64 in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
      #expect(state.next(hasPicture: true, now: at(now)) == .start)
      state.startFailed(now: at(now))
      #expect(state.next(hasPicture: false, now: at(now)) == .wait(until: nil))
      #expect(state.next(hasPicture: true, now: at(now)) == .wait(until: at(now + wait)))
      now += wait
    }
    #expect(state.next(hasPicture: true, now: at(now)) == .start)
    state.started(now: at(now))
    #expect(state.next(hasPicture: true, now: at(now)) == .serve)
    #expect(state.ended(.died, now: at(now)) == .fail(.workerDied))
    #expect(state.next(hasPicture: true, now: at(now)) == .start)
    state.startFailed(now: at(now))
    #expect(state.next(hasPicture: true, now: at(now)) == .wait(until: at(now + 1)))
  }

  private func started() -> WorkerState {
    var state = WorkerState()
    _ = state.next(hasPicture: true, now: at(0))
    state.started(now: at(0))
    return state
  }
}
