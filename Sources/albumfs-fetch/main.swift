// albumfs-fetch: loads one file from the web.
//
// Only `albumfs import` and the gallery start it; Fetching has their conversation. libcurl parses what
// servers send, so it stays out of processes that have keys or files of a space: this program has neither.
// The address comes over a socket, because everybody on the machine sees the arguments of a program.
import Fetching
import Glibc
import NetworkCell
import Posix

Confinement.hide(endingWithCaller: true)
Confinement.closeOthers()

guard let request = FetchRequest(Caller.receiveAll(atMost: FetchRequest.byteLimit)) else {
  Caller.send(FetchReply.end(FetchProblem(.failed)).encode())
  exit(1)
}
// The networks of this machine, while it may still ask for them.
let addresses = PublicAddress(own: AddressText.ownNetworks.map { .init($0.bytes, bits: $0.bits) })
guard WebTransfer.start(), Confinement.enter(endingWithCaller: true),
  let transfer = Transfer(request, addresses)
else {
  Caller.send(FetchReply.end(FetchProblem(.failed)).encode())
  exit(1)
}
let problem = transfer.run()
Caller.send(FetchReply.end(problem).encode())
exit(problem == nil ? 0 : 1)
