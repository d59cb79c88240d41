#include "analysis/report/inline_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "analysis/report/html_page.hpp"
#include "base/input_error.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::array<std::string_view, 18> drawing_elements{
    "svg",  "g",     "defs",    "path", "polygon", "polyline", "line",   "rect",    "circle",
    "text", "tspan", "ellipse", "use",  "pattern", "clipPath", "filter", "feFlood", "feComposite"};

constexpr std::string_view local_reference = "url(#";

bool is_drawing(std::string_view name) {
    return std::ranges::find(drawing_elements, name) != drawing_elements.end();
}

bool is_reference(std::string_view name) { return name == "href" || name == "xlink:href"; }

// The ids that something in the drawing is drawn with.
void find_references(pugi::xml_node element, std::set<std::string>& found) {
    for (const pugi::xml_attribute one : element.attributes()) {
        const std::string_view value = one.value();
        if (is_reference(one.name()) && value.starts_with('#')) found.emplace(value.substr(1));
        if (value.starts_with(local_reference) && value.ends_with(')')) {
            const std::size_t begin = local_reference.size();
            found.emplace(value.substr(begin, value.size() - begin - 1));
        }
    }
    for (const pugi::xml_node child : element.children()) find_references(child, found);
}

bool is_filled_polygon(pugi::xml_node node) {
    return std::string_view(node.name()) == "polygon" &&
           std::string_view(node.attribute("fill").value()).starts_with(local_reference);
}

pugi::xml_node next_element(pugi::xml_node node) {
    do {
        node = node.next_sibling();
    } while (node && node.type() != pugi::node_element);
    return node;
}

bool are_filled_alike(pugi::xml_node a, pugi::xml_node b) {
    const auto is_same = [&](const pugi::xml_attribute& one) {
        return std::string_view(one.name()) == "points" ||
               std::string_view(one.value()) == b.attribute(one.name()).value();
    };
    return std::ranges::distance(a.attributes()) == std::ranges::distance(b.attributes()) &&
           std::ranges::all_of(a.attributes(), is_same);
}

class FigureCopy {
public:
    FigureCopy(std::string_view prefix, std::set<std::string> references)
        : prefix_(prefix), references_(std::move(references)) {}

    void add(pugi::xml_node parent, pugi::xml_node element) const {
        if (!is_drawing(element.name())) return;
        pugi::xml_node copy = parent.append_child(element.name());
        for (const pugi::xml_attribute one : element.attributes()) add(copy, one);
        for (pugi::xml_node child = element.first_child(); child; child = child.next_sibling()) {
            if (is_filled_polygon(child)) {
                child = add_polygons(copy, child);
            } else if (child.type() == pugi::node_element) {
                add(copy, child);
            } else if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) {
                copy.append_child(pugi::node_pcdata).set_value(child.value());
            }
        }
    }

private:
    // Polygons side by side with one pattern become one shape, and the last of them is returned:
    // browsers print each that is by itself with a pattern of its own.
    pugi::xml_node add_polygons(pugi::xml_node parent, pugi::xml_node first) const {
        pugi::xml_node copy = parent.append_child("path");
        std::string shape;
        pugi::xml_node last = first;
        for (pugi::xml_node one = first; is_filled_polygon(one); one = next_element(one)) {
            if (!are_filled_alike(first, one)) break;
            shape += fmt::format("M{}Z", one.attribute("points").value());
            last = one;
        }
        for (const pugi::xml_attribute one : first.attributes()) {
            if (std::string_view(one.name()) != "points") add(copy, one);
        }
        add_page_attribute(copy, "d", shape);
        return last;
    }

    void add(pugi::xml_node copy, pugi::xml_attribute one) const {
        const std::string_view name = one.name();
        const std::string_view value = one.value();
        if (name == "id") {
            if (references_.contains(std::string(value))) {
                add_page_attribute(copy, "id", fmt::format("{}{}", prefix_, value));
            }
        } else if (is_reference(name)) {
            if (!value.starts_with('#')) return;
            add_page_attribute(copy, "href", fmt::format("#{}{}", prefix_, value.substr(1)));
        } else if (value.find("url(") != std::string_view::npos) {
            if (!value.starts_with(local_reference)) return;
            add_page_attribute(copy, one.name(),
                               fmt::format("{}{}{}", local_reference, prefix_,
                                           value.substr(local_reference.size())));
        } else if (!name.starts_with("on") && !name.starts_with("xmlns") && name != "class") {
            add_page_attribute(copy, one.name(), value);
        }
    }

    std::string prefix_;
    std::set<std::string> references_;
};

}  // namespace

void add_inline_figure(pugi::xml_node parent, const std::string& svg, std::string_view file,
                       std::string_view prefix, std::string_view label) {
    pugi::xml_document drawing;
    const pugi::xml_parse_result parsed = drawing.load_buffer(svg.data(), svg.size());
    const pugi::xml_node root = drawing.document_element();
    if (!parsed || std::string_view(root.name()) != "svg") {
        throw InputError(file, "",
                         fmt::format("expected an SVG, found {}",
                                     parsed ? "something else" : parsed.description()));
    }
    std::set<std::string> references;
    find_references(root, references);
    FigureCopy(prefix, std::move(references)).add(parent, root);
    pugi::xml_node copy = parent.last_child();
    add_page_attribute(copy, "role", "img");
    add_page_attribute(copy, "aria-label", label);
}

}  // namespace ukemi::analysis
