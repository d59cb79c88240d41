// link_spec.cpp — "bandwidth" and "latency".
#include "base/link_spec.hpp"

namespace ukemi {

LinkSpec read_link(ConfigReader& section, const std::optional<LinkSpec>& otherwise) {
    LinkSpec link = otherwise.value_or(LinkSpec{});
    if (!otherwise || section.has("bandwidth")) {
        link.bandwidth = section.bandwidth("bandwidth");
        if (!(link.bandwidth.raw() > 0)) {
            section.fail("bandwidth", "expected a bandwidth above zero");
        }
    }
    link.latency = section.duration("latency", link.latency);
    if (link.latency > whole_seconds(60)) {
        section.fail("latency",
                     "expected from 0 s to 1 min, found " + format_duration(link.latency));
    }
    return link;
}

}  // namespace ukemi
