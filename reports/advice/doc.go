// Package advice answers questions about a configuration without a run:
//
//   - [Explain]: what flow control does with one request, and why. [ParseQuestion] reads the request from a command line.
//   - [DivideSeats]: how a server's seats are divided among the priority levels.
//   - [CompareReleases]: what an upgrade of Kubernetes changes for the objects, the levels and the requests of a cluster.
//   - [ExamineMaintenance]: what servers write to the flow-control objects, before an upgrade and during it.
//   - [NewCollisions]: how probable it is that elephants occupy all queues of a mouse.
//
// The answers are values, which the commands explain, config seats, config diff, upgrade --only-objects and collisions encode
// as JSON or pass to reports/render.
package advice
