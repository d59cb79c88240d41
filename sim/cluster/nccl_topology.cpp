// nccl_topology.cpp — from elements to devices, in the order of the file.
#include "sim/cluster/nccl_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "base/text_scan.hpp"
#include "sim/cluster/hops.hpp"
#include "sim/cluster/machines/tables.hpp"
#include "sim/cluster/nic_choice.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/cluster/xml_reader.hpp"

namespace ukemi::sim {
namespace {

constexpr Duration pcie_other = nanoseconds(100);  // a hop of PCIe that is no GPU's

constexpr std::size_t sockets_max = 64;
constexpr std::size_t gpus_max = 1024;
constexpr std::size_t nics_max = 4096;

constexpr std::array<std::string_view, 9> element_names = {"system", "cpu", "pci", "pcilink", "gpu",
                                                           "nvlink", "c2c", "nic", "net"};

// By number of the PCI device (pci.ids, vendor 10de).
constexpr std::pair<std::string_view, std::string_view> gpus_by_device[] = {
    {"0x102d", "k80"},
    {"0x15f8", "p100_pcie"},
    {"0x15f9", "p100_sxm2"},
    {"0x1db1", "v100_sxm2_16gb"},
    {"0x1db4", "v100_pcie_16gb"},
    {"0x1db5", "v100_sxm2_32gb"},
    {"0x1eb8", "t4"},
    {"0x20b0", "a100_sxm4_40gb"},
    {"0x20b2", "a100_sxm4_80gb"},
    {"0x20b5", "a100_pcie_80gb"},
    {"0x20f1", "a100_pcie_40gb"},
    {"0x2204", "rtx3090"},
    {"0x2230", "rtx_a6000"},
    {"0x2235", "a40"},
    {"0x2236", "a10"},
    {"0x2237", "a10g"},
    {"0x2321", "h100_nvl_94gb"},
    {"0x2330", "h100_sxm5_80gb"},
    {"0x2331", "h100_pcie_80gb"},
    {"0x2335", "h200_sxm_141gb"},
    {"0x2684", "rtx4090"},
    {"0x26b1", "rtx6000_ada"},
    {"0x26b9", "l40s"},
    {"0x27b8", "l4"},
    {"0x2901", "b200_sxm_180gb"},
    {"0x2941", "gb200_186gb"},
};

// One NVLink in one direction by compute capability, GB/s, from data sheets: P100; A40, RTX A6000
// and RTX 3090, whose four have 112.5 both ways together; V100 to H200; Blackwell.
double lane_gb_per_s(std::int64_t capability) {
    if (capability < 70) return 20;
    if (capability == 86) return 112.5 / 2 / 4;  // as gpus.cpp
    return capability < 100 ? 25 : 50;
}

// The GPU of gpus.cpp that is meant most often; empty for others.
std::string gpu_of_capability(std::int64_t capability) {
    switch (capability) {
        case 60: return "p100_sxm2";
        case 70: return "v100_sxm2_32gb";
        case 75: return "t4";
        case 80: return "a100_sxm4_80gb";
        case 90: return "h100_sxm5_80gb";
        case 100: return "b200_sxm_180gb";
        default: return {};
    }
}

class Dump {
public:
    explicit Dump(const XmlFile& file) : file_(file) {
        const pugi::xml_node root = file.root();
        machine_ = topology_.add_machine({"machine0", {}, 0, {}});
        if (root.name() != std::string_view("system")) refuse(root, "expected <system>");
        find_repeated(root);
        const NicChoice nics = nics_of(root);
        for (const pugi::xml_node child : root.children()) {
            require(child, {"cpu"});
            add_cpu(child);
        }
        join_sockets();
        for (const Gpu& gpu : gpus_) add_nvlinks(gpu);
        if (gpus_.empty()) refuse(root, "expected at least one <gpu>");
        Machine& machine = topology_.machine_to_describe(machine_);
        const auto device =
            std::ranges::find(gpus_by_device, gpus_.front().device,
                              &std::pair<std::string_view, std::string_view>::first);
        machine.gpu_assumed = device == std::end(gpus_by_device);
        machine.gpu = machine.gpu_assumed ? gpu_of_capability(gpus_.front().capability)
                                          : std::string(device->second);
        machine.nic_gbit_per_s = static_cast<double>(nics.mbit) / 1e3;
        machine.nic_ports_left = nics.ports_left;
        if (are_interfaces()) machine.nics = NicKind::ethernet;
        machine.amd = amd_;
    }

    Topology finished() { return std::move(topology_); }

private:
    struct Gpu {
        pugi::xml_node element;
        std::string_view host;
        std::string bus;
        DeviceId id;
        DeviceId socket;
        std::int64_t capability;
        std::string_view device;
    };
    struct Socket {
        DeviceId id;
        std::string_view host;
        double gb_per_s;
    };

    [[noreturn]] void refuse(pugi::xml_node at, std::string_view problem) const {
        file_.refuse(at, problem);
    }

    // The element's name, if it is allowed here.
    std::string_view require(pugi::xml_node element,
                             std::initializer_list<std::string_view> allowed) const {
        const std::string_view name = element.name();
        if (std::ranges::find(allowed, name) != allowed.end()) return name;
        std::string list;
        for (const std::string_view one : allowed) {
            list += fmt::format("{}<{}>", list.empty() ? "" : " or ", one);
        }
        refuse(element, fmt::format("expected {}, found <{}>{}", list, name,
                                    did_you_mean(name, element_names)));
    }

    std::int64_t number(pugi::xml_node element, const char* key, std::int64_t min, std::int64_t max,
                        std::optional<std::int64_t> otherwise) const {
        const pugi::xml_attribute attribute = element.attribute(key);
        const std::string_view text = attribute.value();
        if (text.empty() && otherwise) return *otherwise;
        if (!attribute) {
            refuse(element, fmt::format("<{}> has no attribute {}", element.name(), key));
        }
        const auto value = parse_whole(text, DecimalGrammar::relaxed);
        if (!value || *value < min || *value > max) {
            refuse(element, fmt::format("{}: expected a whole number from {} to {}, found {}", key,
                                        min, max, ukemi::quoted(text)));
        }
        return *value;
    }

    // NCCL takes 16 lanes for none; 255 is what Linux says where it does not know.
    std::int64_t width_of(pugi::xml_node pci) const {
        const std::int64_t width = number(pci, "link_width", 0, 255, 0);
        if (width == 0 || width == 255) return 16;
        return number(pci, "link_width", 0, 32, {});
    }

    // "8.0 GT/s PCIe" and "16"; line codes: 8 of 10 bits up to 5 GT/s, 128 of 130 from 8 GT/s on.
    BytesPerSecond pcie_rate(pugi::xml_node pci) const {
        const std::int64_t width = width_of(pci);
        std::string_view speed = pci.attribute("link_speed").value();
        if (speed.empty() || speed.starts_with("Unknown")) speed = "8.0 GT/s";
        const std::size_t length = decimal_length(speed, DecimalGrammar::relaxed);
        const auto tenths = parse_decimal(speed.substr(0, length), 1, DecimalGrammar::relaxed);
        if (!tenths || *tenths <= 0 || *tenths > 2560 ||
            !speed.substr(length).starts_with(" GT/s")) {
            refuse(pci,
                   fmt::format("link_speed: expected a rate such as \"8.0 GT/s PCIe\", found {}",
                               ukemi::quoted(speed)));
        }
        const double transfers = static_cast<double>(*tenths) * 1e8;
        const double code = *tenths >= 80 ? 128.0 / 130 : 8.0 / 10;
        return BytesPerSecond::of(transfers * static_cast<double>(width) * code / 8);
    }

    void add_cpu(pugi::xml_node cpu) {
        if (sockets_.size() == sockets_max)
            refuse(cpu, fmt::format("more than {} <cpu>", sockets_max));
        const DeviceId id =
            topology_.add_device(DeviceKind::cpu, machine_, fmt::format("cpu{}", sockets_.size()));
        const std::string_view arch = cpu.attribute("arch").value();
        const std::string_view vendor = cpu.attribute("vendor").value();
        const double rate = arch.starts_with("ppc64")  ? machine_tables::x_bus
                            : vendor == "AuthenticAMD" ? machine_tables::xgmi
                                                       : machine_tables::qpi_2;
        amd_ = amd_ || vendor == "AuthenticAMD";
        sockets_.push_back({id, host_of(cpu), rate});
        for (const pugi::xml_node child : cpu.children()) {
            const std::string_view name = require(child, {"pci", "nic"});
            if (name == "pci") add_pci(child, id, id);
            if (name == "nic") add_nic(child, id, pcie_x16_rate(3));  // without a PCI device
        }
    }

    void add_pci(pugi::xml_node pci, DeviceId parent, DeviceId socket) {
        const BytesPerSecond rate = pcie_rate(pci);
        const bool bridge = !pci.child("pci").empty();
        DeviceId below = parent;
        if (bridge) {
            below = topology_.add_device(DeviceKind::pcie_switch, machine_,
                                         fmt::format("pcie{}", bridges_++));
            topology_.connect(below, parent, LinkKind::pcie, 1, rate, pcie_other);
        }
        for (const pugi::xml_node child : pci.children()) {
            const std::string_view name = require(child, {"pci", "gpu", "nic", "pcilink"});
            if (name == "pci") add_pci(child, below, socket);
            if (name == "gpu") add_gpu(child, pci, below, rate, socket);
            if (name == "nic") add_nic(child, below, rate);
        }
    }

    void add_gpu(pugi::xml_node gpu, pugi::xml_node pci, DeviceId parent, BytesPerSecond rate,
                 DeviceId socket) {
        const std::string_view bus = pci.attribute("busid").value();
        if (bus.empty()) refuse(pci, "<pci> has no attribute busid");
        const DeviceId id =
            topology_.add_device(DeviceKind::gpu, machine_, fmt::format("gpu{}", gpus_.size()));
        topology_.connect(id, parent, LinkKind::pcie, 1, rate, pcie_gpu);
        const std::string_view dev = gpu.attribute("dev").value();
        const std::string_view host = host_of(gpu);
        for (const Gpu& other : gpus_) {
            if (other.host != host) continue;
            if (other.bus == bus) {
                refuse(pci, fmt::format("two GPUs at busid {}", ukemi::quoted(bus)));
            }
            if (dev.empty() || other.element.attribute("dev").value() != dev) continue;
            refuse(gpu, fmt::format("{} at busid {} and {} at busid {} have the same dev, {}",
                                    topology_.device(other.id).name, ukemi::quoted(other.bus),
                                    topology_.device(id).name, ukemi::quoted(bus), dev));
        }
        gpus_.push_back({gpu, host, std::string(bus), id, socket, number(gpu, "sm", 1, 999, 70),
                         pci.attribute("device").value()});
        for (const pugi::xml_node child : gpu.children()) require(child, {"nvlink", "c2c"});
    }

    // Devices and buses are numbered by host, of which a dump of one NVLink domain has several.
    static std::string_view host_of(pugi::xml_node element) {
        while (element && element.name() != std::string_view("cpu")) element = element.parent();
        return element.attribute("host_hash").value();
    }

    // Each rank hangs a device without a place on PCIe on the first <cpu> that it sees, so that
    // where NCCL puts together what ranks of several sockets saw, it stands in each of them.
    void find_repeated(pugi::xml_node root) {
        std::map<std::array<std::string_view, 4>, pugi::xml_node> seen;
        for (const pugi::xml_node cpu : root.children("cpu")) {
            for (const pugi::xml_node nic : cpu.children("nic")) {
                for (const pugi::xml_node net : nic.children("net")) {
                    const std::string_view name = net.attribute("name").value();
                    const std::string_view dev = net.attribute("dev").value();
                    if (name.empty() || dev.empty()) continue;
                    const auto [first, is_new] = seen.try_emplace(
                        {host_of(cpu), name, dev, net.attribute("guid").value()}, net);
                    if (is_new) continue;
                    expect_same_speed(net, first->second);
                    repeated_.insert(net);
                }
            }
        }
    }
    void expect_same_speed(pugi::xml_node net, pugi::xml_node first) const {
        if (mbit_of(net) == mbit_of(first)) return;
        refuse(net, fmt::format("speed: {} (dev {}) has {} here and {} under a <cpu> before",
                                net.attribute("name").value(), net.attribute("dev").value(),
                                mbit_of(net), mbit_of(first)));
    }

    std::int64_t mbit_of(pugi::xml_node net) const {
        return number(net, "speed", 1, 100'000'000, 10'000);
    }
    // What NCCL reaches through sockets has the name of the host's interface (eth0, ens5, bond0),
    // what it reaches through verbs that of a device (mlx5_0).
    bool are_interfaces() const {
        const auto is_interface = [](pugi::xml_node net) {
            const std::string_view name = net.attribute("name").value();
            return name.starts_with("eth") || name.starts_with("en") || name.starts_with("bond");
        };
        return !kept_nics_.empty() && std::ranges::all_of(kept_nics_, [&](pugi::xml_node nic) {
            return std::ranges::all_of(nic.children("net"), is_interface);
        });
    }
    // The network that they belong to is not in the file.
    std::vector<std::int64_t> ports_of(pugi::xml_node nic) const {
        std::vector<std::int64_t> ports;
        for (const pugi::xml_node net : nic.children()) {
            require(net, {"net"});
            if (!repeated_.contains(net)) ports.push_back(mbit_of(net));
        }
        return ports;
    }

    // From a socket down to a device's own <pci>, if it has one.
    using Place = std::vector<pugi::xml_node>;
    static Place place_of(pugi::xml_node device) {
        Place place;
        for (pugi::xml_node at = device.parent(); at.parent().parent(); at = at.parent()) {
            place.push_back(at);
        }
        std::ranges::reverse(place);
        return place;
    }
    static NicWay way_between(const Place& gpu, const Place& nic) {
        const auto fork = std::ranges::mismatch(gpu, nic);
        const std::ptrdiff_t common = fork.in1 - gpu.begin();
        if (common == 0) return NicWay::sockets;
        if (common == 1) return NicWay::host_bridge;
        const auto below = [&](const Place& place) { return std::ssize(place) - common; };
        return below(gpu) <= 1 && below(nic) <= 1 ? NicWay::one_switch : NicWay::switches;
    }

    void find_devices(pugi::xml_node element, std::vector<Place>& gpus,
                      std::vector<pugi::xml_node>& nics) const {
        for (const pugi::xml_node child : element.children()) {
            const std::string_view name = child.name();
            if (name == "gpu") {
                if (gpus.size() == gpus_max)
                    refuse(child, fmt::format("more than {} <gpu>", gpus_max));
                gpus.push_back(place_of(child));
            } else if (name == "nic") {
                if (nics.size() == nics_max)
                    refuse(child, fmt::format("more than {} <nic>", nics_max));
                nics.push_back(child);
            } else {
                find_devices(child, gpus, nics);
            }
        }
    }

    NicChoice nics_of(pugi::xml_node root) {
        std::vector<Place> gpus;
        std::vector<pugi::xml_node> nics;
        find_devices(root, gpus, nics);
        std::vector<NicCard> cards;
        std::erase_if(nics, [&](pugi::xml_node nic) {
            std::vector<std::int64_t> ports = ports_of(nic);
            if (ports.empty()) return true;
            cards.push_back({std::move(ports), {}});
            const Place place = place_of(nic);
            for (const Place& gpu : gpus) cards.back().ways.push_back(way_between(gpu, place));
            return false;
        });
        NicChoice choice = chosen_nics(cards);
        for (std::size_t i = 0; i < nics.size(); ++i) {
            if (choice.kept[i]) kept_nics_.insert(nics[i]);
        }
        return choice;
    }

    void add_nic(pugi::xml_node nic, DeviceId parent, BytesPerSecond rate) {
        if (!kept_nics_.contains(nic)) return;
        const DeviceId id =
            topology_.add_device(DeviceKind::nic, machine_, fmt::format("nic{}", nics_++));
        topology_.connect(id, parent, LinkKind::pcie, 1, rate, pcie_other);
    }

    void join_sockets() {
        for (std::size_t i = 0; i < sockets_.size(); ++i) {
            for (std::size_t j = i + 1; j < sockets_.size(); ++j) {
                if (sockets_[i].host != sockets_[j].host) continue;
                const double rate = std::min(sockets_[i].gb_per_s, sockets_[j].gb_per_s);
                topology_.connect(sockets_[i].id, sockets_[j].id, LinkKind::socket, 1,
                                  BytesPerSecond::of(rate * 1e9), socket_hop);
            }
        }
    }

    DeviceId plane() {
        if (!plane_) plane_ = topology_.add_device(DeviceKind::nvswitch, machine_, "nvswitch");
        return *plane_;
    }

    void add_nvlinks(const Gpu& gpu) {
        const double lane = lane_gb_per_s(gpu.capability);
        std::map<DeviceId, std::uint32_t> lanes;  // a switch has several entries
        for (const pugi::xml_node link : gpu.element.children()) {
            if (link.name() != std::string_view("nvlink")) continue;
            const auto count = static_cast<std::uint32_t>(number(link, "count", 1, 64, {}));
            lanes[target_of(gpu, link)] += count;
        }
        for (const auto& [target, count] : lanes) {
            const bool to_gpu = topology_.device(target).kind == DeviceKind::gpu;
            // Each of two GPUs lists the other; the first one's word is checked against it.
            if (to_gpu && ukemi::index_of(target) < ukemi::index_of(gpu.id)) {
                if (topology_.lanes_between(gpu.id, target, LinkKind::nvlink) == count) continue;
                refuse(
                    gpu.element,
                    fmt::format("{} lists {} NVLinks to {}, which lists {}",
                                topology_.device(gpu.id).name, count, topology_.device(target).name,
                                topology_.lanes_between(gpu.id, target, LinkKind::nvlink)));
            }
            const bool to_plane = topology_.device(target).kind == DeviceKind::nvswitch;
            topology_.connect(gpu.id, target, LinkKind::nvlink, count,
                              BytesPerSecond::of(count * lane * 1e9),
                              to_plane ? nvswitch_hop : nvlink_hop);
        }
    }

    DeviceId target_of(const Gpu& gpu, pugi::xml_node link) {
        const std::string_view kind = link.attribute("tclass").value();
        if (kind == "0x068001") return gpu.socket;
        if (kind.starts_with("0x0680")) return plane();
        const std::string_view bus = link.attribute("target").value();
        for (const Gpu& other : gpus_) {
            if (other.host != gpu.host || other.bus != bus) continue;
            if (other.id == gpu.id) refuse(link, "an NVLink from a GPU to itself");
            return other.id;
        }
        refuse(link, fmt::format("target: there is no GPU at {}", ukemi::quoted(bus)));
    }

    const XmlFile& file_;
    Topology topology_;
    MachineId machine_{};
    std::vector<Socket> sockets_;
    std::vector<Gpu> gpus_;
    std::optional<DeviceId> plane_;
    std::set<pugi::xml_node> repeated_;   // <net>
    std::set<pugi::xml_node> kept_nics_;  // <nic>
    std::size_t bridges_ = 0;
    std::size_t nics_ = 0;
    bool amd_ = false;
};

}  // namespace

Topology parse_nccl_topology(std::string_view text, std::string_view file) {
    const XmlFile xml(text, file);
    Topology topology = Dump(xml).finished();
    check_connected(topology);
    return topology;
}

Topology read_nccl_topology(const std::filesystem::path& file) {
    return parse_nccl_topology(read_text_file(file, xml_bytes_max), file.string());
}

}  // namespace ukemi::sim
