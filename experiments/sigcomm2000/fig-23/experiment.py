from courses import one_stops
from paper import rfc_tfrc

figure = one_stops(23, "TFRC", rfc_tfrc, peak=(17.5, 20, 22.5))

figure.claim(
    "It has grown to the line and levels off about 1.6 s (0.5 to 2.4) after the stop, "
    "as the queueing delay grows"
)(lambda t: t["one stops", "rise_s"], between=(0.5, 2.4))
figure.claim("It loses nothing until 4 s (2 to 8) after the stop")(
    lambda t: t["one stops", "first_loss_s"], between=(2, 8)
)
figure.claim("With the defaults of RFC 5348 it does not overshoot more")(
    lambda t: t["one stops", "peak"], between=(17, 24), profile="rfc"
)
