// xml_reader.cpp — pugixml reads; this refuses, and says where.
#include "sim/cluster/xml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/input_error.hpp"
#include "base/text_scan.hpp"

namespace ukemi::sim {

namespace {

// All that is there becomes a node, comments aside: what is no element is to be refused.
constexpr unsigned int with_everything = pugi::parse_pi | pugi::parse_cdata | pugi::parse_escapes |
                                         pugi::parse_declaration | pugi::parse_doctype |
                                         pugi::parse_trim_pcdata | pugi::parse_fragment;

}  // namespace

XmlFile::XmlFile(std::string_view text, std::string_view file) : text_(text), file_(file) {
    if (text.size() > xml_bytes_max) refuse_at(0, fmt::format("more than {} bytes", xml_bytes_max));
    if (const std::size_t bad = first_invalid_utf8(text); bad != std::string_view::npos) {
        refuse_at(bad, "expected UTF-8");
    }
    if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
        refuse_at(zero, "a zero byte");  // would be the end for pugixml
    }
    const pugi::xml_parse_result result =
        document_.load_buffer(text.data(), text.size(), with_everything, pugi::encoding_utf8);
    if (!result) {
        refuse_at(static_cast<std::size_t>(result.offset),
                  fmt::format("expected XML: {}", result.description()));
    }
    if (document_.first_child().type() == pugi::node_declaration) {
        document_.remove_child(document_.first_child());
    }
    if (!root()) refuse_at(text.size(), "expected an element, found the end of the file");
    check_children(document_, 0);
    if (const pugi::xml_node more = root().next_sibling()) {
        refuse(more, "expected the end of the file after the root element");
    }
}

void XmlFile::check_children(pugi::xml_node parent, std::size_t depth) const {
    for (const pugi::xml_node child : parent.children()) {
        if (child.type() != pugi::node_element) {
            refuse(child, "expected an element, found text, CDATA, a DTD or an instruction");
        }
        if (depth >= xml_depth_max) refuse(child, fmt::format("more than {} levels", depth));
        std::set<std::string_view> names;
        for (const pugi::xml_attribute attribute : child.attributes()) {
            if (names.insert(attribute.name()).second) continue;
            refuse(child, fmt::format("attribute {} appears twice", attribute.name()));
        }
        check_children(child, depth + 1);
    }
}

void XmlFile::refuse(pugi::xml_node at, std::string_view problem) const {
    // Of an element it is its name's; -1, if none is known.
    const std::ptrdiff_t offset = at.offset_debug() - (at.type() == pugi::node_element ? 1 : 0);
    refuse_at(static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)), problem);
}

void XmlFile::refuse_at(std::size_t offset, std::string_view problem) const {
    const TextPlace place = ukemi::place_of(text_, offset);
    throw InputError(file_, place.line, place.column, problem);
}

}  // namespace ukemi::sim
