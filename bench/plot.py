"""Lines over a common axis as an SVG picture, for tables that docs/ shows as curves."""
import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 280, 64, 44, 34, 150
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37")


def ticks(most):
    """Round numbers from 0 to `most` or a little more, nine at most."""
    power = 10.0 ** (math.floor(math.log10(most)) - 1)
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if most <= 8 * power * factor)
    return [step * i for i in range(math.ceil(most / step) + 1)]


def number(value):
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


def svg(title, x_name, y_name, x, lines):
    """`lines`: {name: values}, one for each of `x`; both axes begin at 0."""
    across, up = ticks(max(x)), ticks(max(max(values) for values in lines.values()))
    at_x = lambda v: LEFT + v / across[-1] * (WIDTH - LEFT - RIGHT)
    at_y = lambda v: HEIGHT - BOTTOM - v / up[-1] * (HEIGHT - BOTTOM - TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>', f'<text x="{LEFT}" y="18" font-size="13">{title}</text>']
    for v in up:
        out += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at_y(v):.1f}" y2="{at_y(v):.1f}" stroke="#d8dee4"/>',
                f'<text x="{LEFT - 6}" y="{at_y(v) + 4:.1f}" text-anchor="end">{number(v)}</text>']
    for v in across:
        out.append(f'<text x="{at_x(v):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{number(v)}</text>')
    out += [f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{x_name}</text>',
            f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT / 2})">{y_name}</text>']
    for (name, values), colour in zip(lines.items(), COLOURS[:len(lines)], strict=True):
        points = [(at_x(a), at_y(b)) for a, b in zip(x, values, strict=True)]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points]
        out.append(f'<text x="{points[-1][0] + 8:.1f}" y="{points[-1][1] + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
