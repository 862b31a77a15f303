// cudaGraphDebugDotPrint: writes a graph as a file for Graphviz. An embedded graph is a cluster of its own.
#include <cuda_runtime_api.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "standin/cuda/entry.h"
#include "standin/cuda/event.h"
#include "standin/cuda/graph.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

const char* name_of(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel:
      return "KERNEL";
    case cudaGraphNodeTypeMemcpy:
      return "MEMCPY";
    case cudaGraphNodeTypeMemset:
      return "MEMSET";
    case cudaGraphNodeTypeHost:
      return "HOST";
    case cudaGraphNodeTypeGraph:
      return "GRAPH";
    case cudaGraphNodeTypeWaitEvent:
      return "EVENT_WAIT";
    case cudaGraphNodeTypeEventRecord:
      return "EVENT_RECORD";
    case cudaGraphNodeTypeMemAlloc:
      return "MEM_ALLOC";
    case cudaGraphNodeTypeMemFree:
      return "MEM_FREE";
    case cudaGraphNodeTypeConditional:
      return "CONDITIONAL";
    default:
      return "EMPTY";
  }
}

const char* direction_of(const Activity& copy) {
  if (copy.from_device < 0) return copy.to_device < 0 ? "HtoH" : "HtoD";
  return copy.to_device < 0 ? "DtoH" : "DtoD";
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// The type of a node and the parameters that the flags ask for, one a line.
class Label {
 public:
  Label(const GraphNode& node, std::size_t place, unsigned flags) : node_(node), flags_(flags) {
    text_ << place << '\n' << name_of(node.does.type);
    if (shows(cudaGraphDebugDotFlagsHandles)) text_ << "\nnode handle " << &node;
    if (node.does.activity) add_activity(*node.does.activity);
    if (node.does.parameters) add_parameters(*node.does.parameters);
    if (node.does.event && shows(cudaGraphDebugDotFlagsEventNodeParams))
      text_ << "\nevent " << handle_of(*node.does.event);
    if (node.does.conditional && shows(cudaGraphDebugDotFlagsConditionalNodeParams))
      text_ << "\nhandle " << &node.does.conditional->condition->value << "\ntype "
            << node.does.conditional->type;
  }

  std::string text() const { return text_.str(); }

 private:
  bool shows(unsigned flag) const { return flags_ & (flag | cudaGraphDebugDotFlagsVerbose); }

  void add_activity(const Activity& activity) {
    if (activity.kind == Activity::kCopy) text_ << ' ' << direction_of(activity);
    if (activity.kind != Activity::kKernel) return;
    text_ << '\n' << activity.name;
    if (!shows(cudaGraphDebugDotFlagsKernelNodeAttributes)) return;
    text_ << "\ncooperative " << activity.cooperative;
    const auto priority = node_.does.attributes.find(cudaLaunchAttributePriority);
    text_ << "\npriority " << (priority == node_.does.attributes.end() ? 0 : priority->second.priority);
  }

  void add_parameters(const cudaGraphNodeParams& p) {
    if (p.type == cudaGraphNodeTypeKernel) {
      if (shows(cudaGraphDebugDotFlagsHandles)) text_ << "\nfunction handle " << p.kernel.func;
      if (shows(cudaGraphDebugDotFlagsKernelNodeParams))
        text_ << "\ngrid " << p.kernel.gridDim.x << ',' << p.kernel.gridDim.y << ',' << p.kernel.gridDim.z
              << "\nblock " << p.kernel.blockDim.x << ',' << p.kernel.blockDim.y << ',' << p.kernel.blockDim.z
              << "\nshared memory " << p.kernel.sharedMemBytes;
    } else if (p.type == cudaGraphNodeTypeMemcpy && shows(cudaGraphDebugDotFlagsMemcpyNodeParams)) {
      const cudaMemcpy3DParms& copy = p.memcpy.copyParams;
      text_ << "\nfrom " << copy.srcPtr.ptr << "\nto " << copy.dstPtr.ptr << "\nextent " << copy.extent.width
            << ',' << copy.extent.height << ',' << copy.extent.depth;
    } else if (p.type == cudaGraphNodeTypeMemset && shows(cudaGraphDebugDotFlagsMemsetNodeParams)) {
      text_ << "\nto " << p.memset.dst << "\nvalue " << p.memset.value << "\nelement size "
            << p.memset.elementSize << "\nextent " << p.memset.width << ',' << p.memset.height;
    } else if (p.type == cudaGraphNodeTypeHost && shows(cudaGraphDebugDotFlagsHostNodeParams)) {
      text_ << "\nfunction " << reinterpret_cast<const void*>(p.host.fn) << "\nuser data " << p.host.userData;
    }
  }

  const GraphNode& node_;
  const unsigned flags_;
  std::ostringstream text_;
};

class DotFile {
 public:
  DotFile(std::ostream& out, unsigned flags) : out_(out), flags_(flags) {}

  void add(const Graph& graph, const std::string& title) {
    const int number = ++graphs_;
    const auto name = [number](std::size_t place) {
      return quoted("graph_" + std::to_string(number) + "_node_" + std::to_string(place));
    };
    const auto& nodes = graph.nodes();
    std::map<const GraphNode*, std::size_t> places;
    for (const auto& node : nodes) places.emplace(node.get(), places.size());
    out_ << "subgraph cluster_" << number << " {\nlabel=" << quoted(title) << ";\n";
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      out_ << name(i) << " [shape=box, label=" << quoted(Label(*nodes[i], i, flags_).text()) << "];\n";
      for (const GraphNode* needed : nodes[i]->dependencies)
        out_ << name(places[needed]) << " -> " << name(i) << ";\n";
      for (const GraphRef& within : nodes[i]->does.graphs())
        add(*within, "in node " + std::to_string(i) + " of graph " + std::to_string(number));
    }
    out_ << "}\n";
  }

 private:
  std::ostream& out_;
  const unsigned flags_;
  int graphs_ = 0;
};

}  // namespace

extern "C" {

RUNTIME_API(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char* path, unsigned int flags),
            (graph, path, flags)) {
  return enter([&] {
    require(path != nullptr, cudaErrorInvalidValue);
    const GraphRef printed = find_graph(graph);
    std::ofstream file(path);
    file << "digraph dot {\n";
    DotFile(file, flags).add(*printed, "graph 1");
    file << "}\n";
    file.close();
    require(file.good(), cudaErrorOperatingSystem);
    return cudaSuccess;
  });
}

}  // extern "C"
