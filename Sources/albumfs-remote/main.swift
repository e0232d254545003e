// albumfs-remote: saves and loads objects at a server that speaks S3.
//
// It has the credentials for the server and never a key of a space; what it passes on is sealed. libcurl and
// the parser of what servers say stay out of processes that have keys. Everything comes over a socket, since
// everybody on the machine sees the arguments of a program. It ends with the other side of the socket.
import Glibc
import NetworkCell
import ObjectStores

Confinement.hide(endingWithCaller: false)
Confinement.closeOthers()

guard WebTransfer.start(), Confinement.enter(endingWithCaller: false), let exchange = Exchange()
else {
  var reply = RemoteReply()
  reply.fault = .confinement
  _ = Channel.receive()
  Channel.send(reply, [])
  exit(1)
}
while let (request, body) = Channel.receive() {
  let (reply, content) = exchange.run(request, body)
  if !Channel.send(reply, content) { exit(1) }
}
