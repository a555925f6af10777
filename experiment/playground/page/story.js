// The first story: eight steps, each with one control to move, for someone who has never heard of flow control. A step
// begins with the values of the steps before it, and its own.

export const story = [
  {
    title: "A server has seats",
    text: "This server can work on ten requests at a time: it has ten seats. A request takes a seat while it is executed, and then the seat is free again. Ten small clients, the mice, send two requests a second each. A bigger client sends ten. Press Play below: the squares at the top are the seats, and most of them are free.",
    move: "Mice", hint: "Move it to 30. There are three times as many clients, and their requests still do not wait.",
    set: {},
  },
  {
    title: "One client asks for too much",
    text: "The bigger client is an elephant. The server can do about a hundred of its requests a second. All clients share one queue, so that other requests wait behind those of the elephant.",
    move: "Requests of each elephant", hint: "Move it to 150 a second. The queue fills, and now the mice wait and are rejected, too, though they ask for little.",
    set: { "Mice": 20 },
  },
  {
    title: "More queues",
    text: "Flow control sorts requests into flows; here each client is one. Each flow is dealt a queue, and the queues take turns. The elephant can fill its own queue and no other.",
    move: "Queues", hint: "Move it to 12. Most mice find an empty queue. But the mice that were dealt the queue of the elephant still wait and are rejected.",
    set: { "Requests of each elephant": 150 },
  },
  {
    title: "A hand of queues",
    text: "Now each flow is dealt several queues, its hand. A request goes to the queue of the hand with the least work. The elephant fills its whole hand, but a mouse needs only one queue that the elephant does not have.",
    move: "Hand size", hint: "Move it to 3. Follow a request of the mice below the picture, to see its hand and the queue that it takes.",
    set: { "Queues": 12 },
  },
  {
    title: "Several elephants",
    text: "Each elephant fills a hand. With many elephants, few queues are left, and sooner or later some mouse has only queues that are full. That is a collision; the table of collisions at the end of this page says how probable it is.",
    move: "Elephants", hint: "Move it to 2, and then to 4. Watch how few queues stay empty, and how long the mice wait.",
    set: { "Hand size": 3 },
  },
  {
    title: "How long is a queue?",
    text: "The requests that find all queues of their hand full are rejected: their client is told to come back later. Longer queues reject less at first, but they only keep the requests waiting for longer, because the elephants still ask for more than the server can do.",
    move: "Queue length limit", hint: "Move it to 60. The elephants are still rejected, and what is not rejected waits for longer.",
    set: { "Elephants": 4 },
  },
  {
    title: "More seats",
    text: "Only more seats serve more requests, if the machine can really execute so many at a time.",
    move: "Seats", hint: "Move it to 100. No request waits any more: there is a seat for each.",
    set: { "Queue length limit": 20 },
  },
  {
    title: "The same in a cluster",
    text: "This is a scenario of the library with the numbers of a real cluster: a level with 128 queues and hands of six, four elephants and a hundred mice.",
    move: "Hand size", hint: "Move it to 1. There are still 128 queues, but now some mice share their only queue with an elephant. Then leave the story, and try the other scenarios, or load the configuration of your own cluster.",
    scenario: "elephants-and-mice", set: {},
  },
];

// valuesAt returns the values of the controls at the beginning of a step.
export function valuesAt(step) {
  const own = story[step].scenario;
  return story.slice(0, step + 1).filter(s => s.scenario === own).reduce((values, s) => ({ ...values, ...s.set }), {});
}
