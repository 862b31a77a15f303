// Kahn's algorithm, joining clocks on the way.
#include "collector/ordering/clocks.h"

#include <algorithm>

namespace ddpscope::ordering {

Clocks::Clocks(const Graph& graph, const std::vector<ThreadId>& judged, Trust trust) : graph_(graph) {
  components_.assign(graph.threads().size(), kNoComponent);
  std::size_t size = 0;
  for (ThreadId thread : judged)
    if (std::uint32_t number = graph.number_of(thread); number != Graph::kNoThread)
      if (components_[number] == kNoComponent) components_[number] = size++;
  pool_ = ClockPool(size);
  link(trust);
  run();
}

// Edges by either end, as offsets into one array.
void Clocks::link(Trust trust) {
  std::size_t nodes = graph_.nodes();
  previous_.assign(nodes, kNoNode);
  next_.assign(nodes, kNoNode);
  for (ThreadId thread : graph_.threads()) {
    const std::vector<Node>& own = graph_.nodes_of(thread);
    for (std::size_t i = 1; i < own.size(); ++i) {
      previous_[own[i]] = own[i - 1];
      next_[own[i - 1]] = own[i];
    }
  }
  first_in_.assign(nodes + 1, 0);
  first_out_.assign(nodes + 1, 0);
  for (const Edge& edge : graph_.edges()) {
    if (edge.trust > trust) continue;
    ++first_in_[edge.to + 1];
    ++first_out_[edge.from + 1];
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    first_in_[i + 1] += first_in_[i];
    first_out_[i + 1] += first_out_[i];
  }
  in_.resize(first_in_[nodes]);
  out_.resize(first_out_[nodes]);
  trace::Table<std::uint32_t> at_in = first_in_, at_out = first_out_;
  for (const Edge& edge : graph_.edges()) {
    if (edge.trust > trust) continue;
    in_[at_in[edge.to]++] = edge.from;
    out_[at_out[edge.from]++] = edge.to;
  }
}

template <class Visit>
void Clocks::each_before(Node node, Visit visit) const {
  if (previous_[node] != kNoNode) visit(previous_[node]);
  for (std::uint32_t i = first_in_[node]; i < first_in_[node + 1]; ++i) visit(in_[i]);
}

template <class Visit>
void Clocks::each_after(Node node, Visit visit) const {
  if (next_[node] != kNoNode) visit(next_[node]);
  for (std::uint32_t i = first_out_[node]; i < first_out_[node + 1]; ++i) visit(out_[i]);
}

void Clocks::run() {
  std::size_t nodes = graph_.nodes();
  clocks_.assign(nodes, kNoClock);
  waiting_.assign(nodes, 0);
  readers_.assign(nodes, 0);
  std::vector<Node> ready;  // the last first: a thread is followed as far as it goes, so that what is read
                            // was written just before
  for (Node node = 0; node < nodes; ++node) {
    each_before(node, [&](Node) { ++waiting_[node]; });
    each_after(node, [&](Node) { ++readers_[node]; });
    if (waiting_[node] == 0) ready.push_back(node);
  }
  std::vector<Node> left;  // latest first
  for (std::size_t done = 0; done < nodes; ++done) {
    if (ready.empty()) {
      if (!contradictory_) left = find_left();
      while (waiting_[left.back()] == kDone) left.pop_back();
      ready.push_back(left.back());
    }
    Node node = ready.back();
    ready.pop_back();
    waiting_[node] = kDone;
    settle(node);
    each_after(node, [&](Node after) {
      if (waiting_[after] != kDone && --waiting_[after] == 0) ready.push_back(after);
    });
  }
}

// Edges go in a circle: from here on the earliest goes first where nothing else can.
std::vector<Node> Clocks::find_left() {
  contradictory_ = true;
  std::vector<Node> left;
  for (Node node = 0; node < waiting_.size(); ++node)
    if (waiting_[node] != kDone) left.push_back(node);
  std::sort(left.begin(), left.end(),
            [&](Node a, Node b) { return std::pair(graph_.ns(a), a) > std::pair(graph_.ns(b), b); });
  return left;
}

std::size_t Clocks::component(Node node) const {
  return graph_.on_thread(node) ? components_[graph_.thread_number(node)] : kNoComponent;
}

// What a node knows while it is put together: another node's clock as long as that says it all.
class Clocks::Draft {
 public:
  Draft(ClockPool& pool, ClockId known) : pool_(pool), known_(pool.keep(known)) {}

  void learn(ClockId other) {
    if (other == kNoClock || other == known_) return;
    if (known_ == kNoClock) return share(other);
    const std::int64_t *theirs = pool_.values(other), *known = pool_.values(known_);
    bool news = false, all = true;  // anything in `other` that is new; everything known is in `other`
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      news = news || theirs[i] > known[i];
      all = all && theirs[i] >= known[i];
    }
    if (!news) return;
    if (all) return share(other);
    std::int64_t* values = writable();
    theirs = pool_.values(other);
    for (std::size_t i = 0; i < pool_.size(); ++i) values[i] = std::max(values[i], theirs[i]);
  }

  void learn(std::size_t component, std::int64_t ns) {
    if (known_ == kNoClock || pool_.values(known_)[component] < ns) writable()[component] = ns;
  }

  ClockId take() { return known_; }

 private:
  void share(ClockId other) {
    pool_.keep(other);
    pool_.drop(known_);
    known_ = other;
    own_ = false;
  }

  std::int64_t* writable() {
    if (own_) return pool_.values(known_);
    ClockId made = pool_.make();
    std::int64_t* values = pool_.values(made);
    if (known_ == kNoClock)
      std::fill_n(values, pool_.size(), kNothing);
    else
      std::copy_n(pool_.values(known_), pool_.size(), values);
    pool_.drop(known_);
    known_ = made;
    own_ = true;
    return values;
  }

  ClockPool& pool_;
  ClockId known_;
  bool own_ = false;  // nobody else has it
};

void Clocks::settle(Node node) {
  Draft draft(pool_, previous_[node] == kNoNode ? kNoClock : clocks_[previous_[node]]);
  for (std::uint32_t i = first_in_[node]; i < first_in_[node + 1]; ++i) {
    Node from = in_[i];
    draft.learn(clocks_[from]);
    if (std::size_t own = component(from); own != kNoComponent) draft.learn(own, graph_.ns(from));
  }
  clocks_[node] = draft.take();
  each_before(node, [&](Node before) { leave(before); });
  if (readers_[node] == 0 && component(node) == kNoComponent) forget(node);
}

void Clocks::forget(Node node) {
  pool_.drop(clocks_[node]);
  clocks_[node] = kNoClock;
}

// A clock that nobody will read any more goes; those of judged threads are asked for in the end.
void Clocks::leave(Node node) {
  if (readers_[node] && --readers_[node] == 0 && component(node) == kNoComponent) forget(node);
}

std::int64_t Clocks::known(ThreadId of, ThreadId thread, std::int64_t from_ns) const {
  std::uint32_t number = graph_.number_of(of);
  if (number == Graph::kNoThread || components_[number] == kNoComponent) return kNothing;
  const std::vector<Node>& nodes = graph_.nodes_of(thread);
  auto later = [&](std::int64_t ns, Node node) { return ns < graph_.ns(node); };
  auto after = std::upper_bound(nodes.begin(), nodes.end(), from_ns, later);
  if (after == nodes.begin()) return kNothing;
  ClockId clock = clocks_[*(after - 1)];
  return clock == kNoClock ? kNothing : pool_.values(clock)[components_[number]];
}

}  // namespace ddpscope::ordering
